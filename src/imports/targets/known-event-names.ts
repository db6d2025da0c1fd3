import type { EventStore } from '../../stores/events/eventstore.ts';

/** A project with more names has other problems. */
const namesMax = 100_000;

/** Returns the event names that a project has stored. */
export async function knownEventNames(store: EventStore, projectId: number): Promise<ReadonlySet<string>> {
  const rows = await store.query<{ event: string }>(
    `SELECT DISTINCT event FROM events WHERE project_id = {project:Int32} LIMIT ${namesMax}`,
    { project: projectId },
  );
  return new Set(rows.map(({ event }) => event));
}
