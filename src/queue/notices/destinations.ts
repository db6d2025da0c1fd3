import type { Selectable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { DestinationKind, DestinationRecord, NoticeEvent } from '../../wire/contract/notices.ts';
import type { Database } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** The target of notifications. Only the host of a URL and the recipients are ever shown. */
export interface Address {
  /** For `webhook` and `slack`; may contain a secret. */
  readonly url?: string;
  /** For `email`. */
  readonly to?: readonly string[];
  /** For `webhook`: the signing key. */
  readonly secret?: string;
}

export interface Destination {
  readonly id: string;
  readonly organizationId: string;
  /** `null` means a destination for the service as a whole. */
  readonly projectId: number | null;
  readonly name: string;
  readonly kind: DestinationKind;
  readonly address: Address;
  readonly events: readonly NoticeEvent[];
  readonly enabled: boolean;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** The owner: a project, or an organisation for destinations of the service as a whole. */
export interface DestinationOwner {
  readonly organizationId: string;
  readonly projectId: number | null;
}

export type DestinationFields = Pick<Destination, 'name' | 'address' | 'events' | 'enabled'>;

/** `now` is in ms, here and below. */
export async function createDestination(
  tx: Queries,
  owner: DestinationOwner,
  { kind, ...fields }: DestinationFields & Pick<Destination, 'kind'>,
  now: number,
): Promise<Destination> {
  const time = isoMicros(now);
  const made = { id: newId(), ...owner, kind, ...fields, createdAt: time, updatedAt: time };
  const { id, organizationId: organization_id, projectId: project_id } = made;
  const row = { id, organization_id, project_id, kind, ...columnsOf(fields), created_at: time, updated_at: time };
  await tx.insertInto('notice_destinations').values(row).execute();
  return made;
}

export async function updateDestination(
  tx: Queries,
  before: Destination,
  fields: DestinationFields,
  now: number,
): Promise<Destination> {
  const updated_at = isoMicros(now);
  const columns = { ...columnsOf(fields), updated_at };
  await tx.updateTable('notice_destinations').set(columns).where('id', '=', before.id).execute();
  return { ...before, ...fields, updatedAt: updated_at };
}

/** Deletes a destination with its queued notifications. */
export async function deleteDestination(tx: Queries, id: string): Promise<void> {
  await tx.deleteFrom('notice_destinations').where('id', '=', id).execute();
}

/** Returns `undefined` for an unknown destination or one of another owner. */
export async function findDestination(
  db: Queries,
  owner: DestinationOwner,
  id: string,
): Promise<Destination | undefined> {
  const row = await ofOwner(db, owner).selectAll().where('id', '=', id).executeTakeFirst();
  return row && toDestination(row);
}

/** Finds a destination of any owner. */
export async function findAnyDestination(db: Queries, id: string): Promise<Destination | undefined> {
  const row = await db.selectFrom('notice_destinations').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toDestination(row);
}

/** Oldest first. */
export async function listDestinations(
  db: Queries,
  owner: DestinationOwner,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly destinations: Destination[] }> {
  const query = ofOwner(db, owner);
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await query.selectAll().orderBy('id').limit(page.limit).offset(page.offset).execute();
  return { count: Number(count), destinations: rows.map(toDestination) };
}

/** Returns the enabled destinations that want the event; `projectId` null means those of the service. */
export async function destinationsFor(
  db: Queries,
  projectId: number | null,
  event: NoticeEvent,
): Promise<Destination[]> {
  const rows = await db
    .selectFrom('notice_destinations')
    .selectAll()
    .where('project_id', projectId === null ? 'is' : '=', projectId)
    .where('enabled', '=', 1)
    .orderBy('id')
    .execute();
  return rows.map(toDestination).filter(({ events }) => events.includes(event));
}

/** Converts a destination to the form shown in responses and the activity log. */
export function toDestinationRecord(destination: Destination): DestinationRecord {
  const { id, projectId, name, kind, address, events, enabled, createdAt, updatedAt } = destination;
  return {
    id,
    project_id: projectId,
    name,
    kind,
    url: address.url === undefined ? null : shownUrl(address.url),
    to: [...(address.to ?? [])],
    events: [...events],
    enabled,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}

/** Services put the key of a channel into the path or the query. */
function shownUrl(url: string): string {
  return `${new URL(url).origin}/…`;
}

function ofOwner(db: Queries, { organizationId, projectId }: DestinationOwner) {
  return db
    .selectFrom('notice_destinations')
    .where('organization_id', '=', organizationId)
    .where('project_id', projectId === null ? 'is' : '=', projectId);
}

function columnsOf({ name, address, events, enabled }: DestinationFields) {
  return {
    name,
    address: JSON.stringify(address),
    events: JSON.stringify(events),
    enabled: enabled ? 1 : 0,
  } as const;
}

function toDestination(row: Selectable<Database['notice_destinations']>): Destination {
  return {
    id: row.id,
    organizationId: row.organization_id,
    projectId: row.project_id,
    name: row.name,
    kind: row.kind,
    address: JSON.parse(row.address) as Address,
    events: JSON.parse(row.events) as NoticeEvent[],
    enabled: row.enabled === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
