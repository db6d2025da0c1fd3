import type { Retry } from '../../../../base/retry.ts';
import type { RunRef } from '../../../../stores/events/eventstore.ts';
import type { RunStore } from '../../../../stores/events/run-tables.ts';
import { readStore } from '../../../targets/read-store.ts';
import type { RowsOfSegment } from './segment-rows.ts';

/** The table of a run while it is filled. Every call waits while the event store is unavailable. */
export interface RunRows {
  readonly run: RunRef;
  readonly store: RunStore;
  exists(): Promise<boolean>;
  create(): Promise<void>;
  drop(): Promise<void>;
  /** Inserts the rows of a segment, whose name must be the same on every retry. `isRepeated` as in `EventStore.insertBatch`. */
  insert(segment: string, found: Pick<RowsOfSegment, 'rows' | 'facts'>, isRepeated: boolean): Promise<void>;
  /** Replaces StoreUnavailableError by TargetWaitError, and retries. */
  whenAnswering<Result>(work: () => Promise<Result>): Promise<Result>;
}

interface RunRowsDeps {
  readonly runStore: RunStore;
  readonly retry: Retry;
  /** Resolves when there is room for more rows. */
  readonly waitForRoom: () => Promise<void>;
}

export function createRunRows(run: RunRef, { runStore: store, retry, waitForRoom }: RunRowsDeps): RunRows {
  const { runTables } = store;
  const whenAnswering: RunRows['whenAnswering'] = (work) => retry(() => readStore(work));
  return {
    run,
    store,
    exists: () =>
      whenAnswering(async () => {
        const tables = await runTables.list();
        return tables.some(({ projectId, runId }) => projectId === run.projectId && runId === run.runId);
      }),
    create: () => whenAnswering(() => runTables.create(run)),
    drop: () => whenAnswering(() => runTables.drop(run)),
    insert: async (segment, { rows, facts }, isRepeated) => {
      await waitForRoom();
      await whenAnswering(() => runTables.insert(run, rows, segment, { isRepeated }));
      if (facts === undefined) return;
      await whenAnswering(() => runTables.insert(run, facts, segment, { table: 'facts', isRepeated }));
    },
    whenAnswering,
  };
}
