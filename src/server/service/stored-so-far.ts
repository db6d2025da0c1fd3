/**
 * Whether the pipeline, in any process, has stored a project's current log content: compares the end of its lane in the log with
 * the cursor in the metadata store.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Answers, Call } from '../../base/calls.ts';
import type { EventLogWriter, Lane } from '../../log/eventlog.ts';
import { slotOfPart } from '../../log/slot-of.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getProject } from '../../stores/metadata/projects.ts';
import { readCursor } from '../../pipeline/cursors.ts';

interface LogEnd {
  readonly slot: number;
  /** Sequence number of the last record in the slot's lane. */
  readonly seq: number;
}

const pollMs = 100;

/** Answers of the main thread, which has the log. */
export function answersOfEnds(log: Pick<EventLogWriter, 'slots' | 'end'>): Answers {
  return {
    laneEnd: async (projectId: number, part: number, lane: Lane): Promise<LogEnd> => {
      const slot = slotOfPart(projectId, part, log.slots);
      return { slot, seq: await log.end(lane, slot) };
    },
  };
}

export interface StoredSoFarDeps {
  readonly db: Metadata;
  /** Calls the main thread. */
  readonly call: Call;
}

/** Resolves when the current content of a project's lane is in the event store. */
export async function waitUntilStored(
  { db, call }: StoredSoFarDeps,
  { projectId, lane }: { readonly projectId: number; readonly lane: Lane },
  signal: AbortSignal,
): Promise<void> {
  const parts = (await getProject(db, projectId))?.spreadMax ?? 1;
  const ends: LogEnd[] = [];
  for (let part = 0; part < parts; part++) ends.push((await call('laneEnd', projectId, part, lane)) as LogEnd);
  for (const { slot, seq } of ends) {
    while ((await readCursor(db, { slot, lane })).seq < seq) await delay(pollMs, undefined, { signal });
  }
}
