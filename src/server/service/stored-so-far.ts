/**
 * Whether the pipeline, in any process, has stored a project's current log content: compares the end of its lane in the log with
 * the cursor in the metadata store.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answers, Call } from '../../base/calls.ts';
import type { EventLogWriter } from '../../log/eventlog.ts';
import { slotOfPart } from '../../log/slot-of.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getProject } from '../../stores/metadata/projects.ts';
import { readCursor } from '../../pipeline/cursors.ts';

interface LogEnd {
  readonly slot: number;
  /** Sequence number of the last record in the slot's historical lane. */
  readonly seq: number;
}

const pollMs = 100;

/** Answers of the main thread, which has the log. */
export function answersOfEnds(log: Pick<EventLogWriter, 'slots' | 'end'>): Answers {
  return {
    historicalEnd: async (projectId: number, part: number): Promise<LogEnd> => {
      const slot = slotOfPart(projectId, part, log.slots);
      return { slot, seq: await log.end('historical', slot) };
    },
  };
}

export interface StoredSoFarDeps {
  readonly db: Metadata;
  /** Calls the main thread. */
  readonly call: Call;
}

/** Resolves when the current content of the project's historical lane is in the event store. */
export async function waitUntilStored({ db, call }: StoredSoFarDeps, projectId: number, signal: AbortSignal) {
  const parts = (await getProject(db, projectId))?.spreadMax ?? 1;
  const ends: LogEnd[] = [];
  for (let part = 0; part < parts; part++) ends.push((await call('historicalEnd', projectId, part)) as LogEnd);
  for (const { slot, seq } of ends) {
    while ((await readCursor(db, { slot, lane: 'historical' })).seq < seq) await delay(pollMs, undefined, { signal });
  }
}
