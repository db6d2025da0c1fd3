import type { DeliveryState, DestinationKind } from '../../../wire/contract/notices.ts';
import { flag, integer, table, text } from './table.ts';

/** Notifications. */
export const noticeTables = {
  notice_destinations: table(
    {
      id: text().key(),
      organization_id: text().partOf('organizations.id'),
      /** Null if it receives notifications of the service as a whole. */
      project_id: integer().nullable().partOf('projects.id'),
      name: text(),
      kind: text<DestinationKind>(),
      /** JSON: Address of queue/notices/destinations.ts. Contains secrets, never shown. */
      address: text(),
      /** JSON array of NoticeEvent. */
      events: text(),
      enabled: flag(),
      created_at: text(),
      updated_at: text(),
    },
    { indexes: { notice_destinations_by_project: ['project_id'] } },
  ),
  /** The outbox: one row per notification and destination; leased. See queue/notices/outbox.ts. */
  notices: table(
    {
      id: text().key(),
      destination_id: text().partOf('notice_destinations.id'),
      state: text<DeliveryState>(),
      /** JSON: Notice of the contract. */
      notice: text(),
      attempts: integer(),
      attempts_max: integer(),
      run_at: text(),
      lease_until: text().nullable(),
      error: text(),
      created_at: text(),
      finished_at: text().nullable(),
    },
    { indexes: { notices_due: ['state', 'run_at'], notices_by_destination: ['destination_id', 'id'] } },
  ),
  /** Lasting conditions that were detected, so that each is reported once. See queue/notices/conditions.ts. */
  notice_conditions: table({
    /** Such as `config 12`. */
    subject: text().key(),
    project_id: integer().nullable().partOf('projects.id'),
    /** JSON: Standing of queue/notices/conditions.ts. */
    standing: text(),
    seen_at: text(),
    /** When it was reported. Null if it has not lasted long enough. */
    told_at: text().nullable(),
    /** Since when it is no longer observed. Null while it lasts. */
    clear_since: text().nullable(),
  }),
};
