import { isoMicros } from '../../base/clock.ts';
import { TaskFailedError } from '../../queue/tasks/task.ts';
import { idsOfPersons } from '../../pipeline/persons/ids-of-persons.ts';
import type { EventSelection } from '../../wire/contract/event-selection.ts';
import type { EventStore } from '../events/eventstore.ts';
import { parseMicros } from '../events/micros.ts';
import { selectionFilter } from '../events/selection.ts';
import type { Metadata } from '../metadata/database.ts';
import { countExported, type ExportedEvents } from './event-pages.ts';
import type { ExportProgress } from '../../wire/contract/exports.ts';

/**
 * An export contains the events that were acknowledged before it started, and none that was received later. Import runs that were not finished
 * are excluded as a whole, because their events count as received when the run started.
 */
export interface SnapshotDeps {
  readonly db: Metadata;
  readonly store: Pick<EventStore, 'query' | 'waitForReplicas'>;
  /** ms since the epoch. */
  readonly now: () => number;
  /** Resolves when the current content of the project's lanes in the event log is stored. */
  readonly waitUntilStored: (projectId: number, signal: AbortSignal) => Promise<void>;
}

/** What an export shows, fixed when it starts. */
export type ExportSnapshot = Pick<ExportProgress, 'received_before' | 'unfinished_runs' | 'distinct_ids' | 'events'>;

export interface SnapshotOf {
  readonly projectId: number;
  readonly selection: EventSelection;
  readonly signal: AbortSignal;
}

/** @throws TaskFailedError for a selection that cannot be exported */
export async function takeSnapshot(
  deps: SnapshotDeps,
  { projectId, selection, signal }: SnapshotOf,
): Promise<ExportSnapshot> {
  const { db, store } = deps;
  const receivedBefore = isoMicros(deps.now());
  const runs = await unfinishedRuns(db, projectId);
  if (selection.import_run !== undefined && runs.includes(selection.import_run)) {
    throw new TaskFailedError(
      `Expected a finished import run, got one that is not: ${selection.import_run}. Wait for its end.`,
    );
  }
  await deps.waitUntilStored(projectId, signal);
  await store.waitForReplicas();
  const ids = await idsOf(db, projectId, selection);
  const snapshot = { received_before: receivedBefore, unfinished_runs: runs, ...(ids && { distinct_ids: ids }) };
  const { events } = await countExported(store, exportedEvents({ projectId, selection, snapshot }));
  return { ...snapshot, events };
}

export interface EventsOf {
  readonly projectId: number;
  readonly selection: EventSelection;
  readonly snapshot: Omit<ExportSnapshot, 'events'>;
}

export function exportedEvents({ projectId, selection, snapshot }: EventsOf): ExportedEvents {
  const filter = selectionFilter(selection);
  const { received_before, unfinished_runs, distinct_ids: ofPerson } = snapshot;
  const wanted = filter.distinctIds;
  const distinctIds = ofPerson === undefined ? wanted : ofPerson.filter((id) => wanted?.includes(id) ?? true);
  const receivedBefore = parseMicros(received_before);
  if (receivedBefore === undefined) throw new TypeError(`expected the time of a snapshot, got ${received_before}`);
  return { projectId, filter: { ...filter, distinctIds }, receivedBefore, withoutRuns: unfinished_runs };
}

/** Returns the ids of the selected person, `undefined` if none is selected. */
export async function idsOf(
  db: Metadata,
  projectId: number,
  { person_id: uuid }: EventSelection,
): Promise<string[] | undefined> {
  if (uuid === undefined) return undefined;
  return (await idsOfPersons(db, projectId, [uuid])).map(({ distinct_id }) => distinct_id).sort();
}

const unfinished = ['queued', 'running', 'paused'];

export async function unfinishedRuns(db: Metadata, projectId: number): Promise<string[]> {
  const rows = await db
    .selectFrom('import_runs')
    .select('id')
    .where('project_id', '=', projectId)
    .where('state', 'in', unfinished)
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}
