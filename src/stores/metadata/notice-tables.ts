import type { DeliveryState, DestinationKind } from '../../wire/contract/notices.ts';
import type { Flag } from './database.ts';

/** Tables of notices; the conventions are those of database.ts. */
export interface NoticeTables {
  notice_destinations: {
    id: string;
    organization_id: string;
    /** Null: it is told of the service as a whole. */
    project_id: number | null;
    name: string;
    kind: DestinationKind;
    /** JSON: Address of notices/destinations.ts; holds secrets, never shown. */
    address: string;
    /** JSON: array of NoticeEvent. */
    events: string;
    enabled: Flag;
    created_at: string;
    updated_at: string;
  };
  /** The outbox: a notice for each destination that wants it; leased. See notices/outbox.ts. */
  notices: {
    id: string;
    destination_id: string;
    state: DeliveryState;
    /** JSON: Notice of the contract. */
    notice: string;
    attempts: number;
    attempts_max: number;
    run_at: string;
    lease_until: string | null;
    error: string;
    created_at: string;
    finished_at: string | null;
  };
  /** What lasts and was seen, so that it is told once. See notices/conditions.ts. */
  notice_conditions: {
    /** Such as `config 12`. */
    subject: string;
    project_id: number | null;
    /** JSON: Standing of notices/conditions.ts. */
    standing: string;
    seen_at: string;
    /** Null: it has not lasted long enough to be told. */
    told_at: string | null;
    /** Since when it is over; null: it is not. */
    clear_since: string | null;
  };
}
