/** A service with live events and three overlapping runs, of which one is undone and one replaced. */
import type { WireEvent } from '../../../src/wire/contract/wire-event.ts';
import type { ProofService } from '../one-machine/service.ts';
import { proofKeys } from '../one-machine/service.ts';
import { untilDrained } from '../../bench/server.ts';
import {
  createUndoConfigs,
  sendLive,
  undoClient,
  type UndoClient,
  type UndoHistory,
} from '../../../test/support/undo-worlds.ts';

/** Instead of the format's names of events, so that a run makes other events of the same records. */
export const renamed = { events: { 'Order Done': 'order done' } } as const;

export interface Step {
  readonly name: string;
  /** Begins it on a service that is ready; answers the path of the run that has to get to `until`. */
  begin(): Promise<string>;
  readonly until: 'completed' | 'undone';
  /** Where the service dies, in the order in which they come. */
  readonly failpoints: readonly string[];
}

export interface World {
  readonly client: UndoClient;
  /** Those that stay, once the steps are done. */
  kept(): readonly string[];
  readonly steps: readonly Step[];
}

const importFailpoints = [
  'import_segment_written',
  'import_segment_committed',
  'import_rows_written',
  'import_segment_checked',
  'import_deferred_written',
  'import_days_settled',
  'import_check_written',
  'import_events_admitted',
  'import_month_admitted',
  'import_month_attached',
  'import_facts_delivered:2',
  'before_insert',
  'after_insert:2',
  'after_metadata_commit:2',
  'after_log_commit',
  'import_load_delivered',
  'import_load_committed',
  'import_verify_compared',
  'import_verify_committed',
];
const undoFailpoints = [
  'undo_recorded',
  'undo_deleted',
  'undo_others_requested',
  'rebuild_computed:1',
  'rebuild_committed:2',
  'undo_rebuilt',
  'undo_reported',
];
const replaceFailpoints = [
  'import_replace_decided',
  'import_replace_requested',
  ...undoFailpoints,
  'import_replaced_one',
  'import_month_attached',
  'import_load_committed:3',
];

/** Returns when the service is ready and has stored the live events before the runs. `isSpared`: without the runs that are undone. */
export async function openWorld(service: ProofService, history: UndoHistory, isSpared: boolean): Promise<World> {
  const client = undoClient(service, proofKeys);
  await sendLive(service, proofKeys, history.before);
  await untilDrained(service.url);
  const configs = await createUndoConfigs(service, client, history.files);
  const runs = new Map<string, string>();
  const importing = (name: string, config: number, failpoints: readonly string[], payload: object = {}): Step => ({
    name,
    until: 'completed',
    failpoints,
    begin: async () => {
      const path = configs[config] ?? '';
      const { id } = await client.post<{ id: string }>(`${path}runs/`, { rejected_max: 0.5, ...payload });
      runs.set(name, id);
      return `${path}runs/${id}/`;
    },
  });
  /** Every third, so that three runs die everywhere. */
  const some = (offset: number): string[] => importFailpoints.filter((_, at) => at % 3 === offset);
  const last = importing('replace', 0, replaceFailpoints, { names: renamed, ...(!isSpared && { replace: true }) });
  const undo: Step = {
    name: 'undo',
    until: 'undone',
    failpoints: undoFailpoints,
    begin: async () => {
      const path = `${configs[1] ?? ''}runs/${runs.get('second run') ?? ''}/`;
      await client.post(`${path}undo/`);
      return path;
    },
  };
  const third = importing('third run', 2, some(2));
  return {
    client,
    steps: isSpared
      ? [third, last]
      : [importing('first run', 0, some(0)), importing('second run', 1, some(1)), third, undo, last],
    kept: () => ['third run', 'replace'].map((name) => runs.get(name) ?? ''),
  };
}

/** Sends events in the background, a few at a time, again until they are taken. `stop` sends the rest and returns. */
export function startLive(service: ProofService, events: readonly WireEvent[]): { stop(): Promise<void> } {
  const perBatch = Math.max(1, Math.ceil(events.length / 300));
  let isStopping = false;
  const work = (async () => {
    for (let at = 0; at < events.length; at += perBatch) {
      const batch = events.slice(at, at + perBatch);
      while (!(await sent(service, batch))) await pause(200);
      if (!isStopping) await pause(200);
    }
  })();
  // `stop` awaits it and throws its error.
  work.catch(() => undefined);
  return {
    stop: async () => {
      isStopping = true;
      await work;
    },
  };
}

/** False: there was no answer, as after a kill. */
async function sent(service: ProofService, batch: readonly WireEvent[]): Promise<boolean> {
  try {
    await sendLive(service, proofKeys, batch);
    return true;
  } catch {
    return false;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
