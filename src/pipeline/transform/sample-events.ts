import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Database } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** An event that users keep to try transformations with: see contract/sample-events.ts. */
export interface SampleEvent {
  readonly id: number;
  readonly name: string;
  readonly event: JsonObject;
  readonly createdBy: number | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface SamplePlace {
  readonly projectId: number;
  readonly id: number;
}

/** Lists samples by name; the search ignores case. */
export async function listSamples(db: Queries, projectId: number, search = ''): Promise<SampleEvent[]> {
  const rows = await db
    .selectFrom('sample_events')
    .selectAll()
    .where('project_id', '=', projectId)
    .orderBy('name')
    .execute();
  const wanted = search.toLowerCase();
  return rows.filter(({ name }) => name.toLowerCase().includes(wanted)).map(toSample);
}

export async function findSample(db: Queries, { projectId, id }: SamplePlace): Promise<SampleEvent | undefined> {
  const row = await db
    .selectFrom('sample_events')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return row === undefined ? undefined : toSample(row);
}

/** Returns the id of the sample with that name. */
export async function sampleNamed(db: Queries, projectId: number, name: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('sample_events')
    .select('id')
    .where('project_id', '=', projectId)
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.id;
}

export async function countSamples(db: Queries, projectId: number): Promise<number> {
  const { count } = await db
    .selectFrom('sample_events')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Inserts a sample, whose name must be unused. `now` in ms. */
export async function insertSample(
  db: Queries,
  sample: { projectId: number; name: string; event: JsonObject; createdBy: number; now: number },
): Promise<SampleEvent> {
  const time = isoMicros(sample.now);
  const row = await db
    .insertInto('sample_events')
    .values({
      project_id: sample.projectId,
      name: sample.name,
      event: JSON.stringify(sample.event),
      created_by: sample.createdBy,
      created_at: time,
      updated_at: time,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  return toSample(row);
}

/** Updates the given fields. Returns undefined if there is no such sample. */
export async function updateSample(
  db: Queries,
  { projectId, id }: SamplePlace,
  change: { name?: string | undefined; event?: JsonObject | undefined; now: number },
): Promise<SampleEvent | undefined> {
  const { name, event, now } = change;
  const row = await db
    .updateTable('sample_events')
    .set({
      ...(name !== undefined && { name }),
      ...(event !== undefined && { event: JSON.stringify(event) }),
      updated_at: isoMicros(now),
    })
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
  return row === undefined ? undefined : toSample(row);
}

/** Returns false if there is no such sample. */
export async function deleteSample(db: Queries, { projectId, id }: SamplePlace): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('sample_events')
    .where('project_id', '=', projectId)
    .where('id', '=', id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

function toSample(row: Selectable<Database['sample_events']>): SampleEvent {
  const { id, name, created_by: createdBy, created_at: createdAt, updated_at: updatedAt } = row;
  return { id, name, event: JSON.parse(row.event) as JsonObject, createdBy, createdAt, updatedAt };
}
