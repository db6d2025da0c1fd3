import type { EraseRows, QueryParam, RunDays } from '../eventstore.ts';
import type { KeptSince, ProjectExpiry } from '../expired-rows.ts';
import type { EventFilter } from '../filters.ts';
import type { RunTableRef } from '../run-table-names.ts';
import type { RunTableChange } from '../run-tables.ts';

/** Requests of clients to the process of the embedded engine, as headers of frames over a UNIX domain socket. */
export type StoreRequest =
  /** `file` is the name of a spool file, `into` a table other than `events`. */
  | {
      readonly id: number;
      readonly kind: 'insert';
      readonly file: string;
      readonly rows: number;
      readonly token: string;
      readonly into?: RunTableRef;
    }
  | { readonly id: number; readonly kind: 'delete-run'; readonly rows: RunDays }
  | {
      readonly id: number;
      readonly kind: 'remove-expired';
      readonly month: number;
      readonly expiries: readonly WireExpiry[];
    }
  | { readonly id: number; readonly kind: 'erase'; readonly rows: WireEraseRows }
  /** Lets the engine remove replaced parts. */
  | { readonly id: number; readonly kind: 'nudge' }
  | { readonly id: number; readonly kind: 'change-run-table'; readonly change: RunTableChange }
  | { readonly id: number; readonly kind: 'query'; readonly sql: string; readonly params: Record<string, WireParam> }
  | { readonly id: number; readonly kind: 'health' };

/** A 64-bit integer is sent as text in an object. */
export type WireParam = Exclude<QueryParam, bigint> | { readonly bigint: string };

type WireTimes = { readonly [Kind in keyof KeptSince]: string | null };

/** A project's expiry with its times as text. */
export interface WireExpiry {
  readonly projectId: number;
  readonly keptSince: WireTimes;
  readonly events: readonly (WireTimes & { readonly event: string })[];
}

export function toWireExpiry({ projectId, keptSince, events }: ProjectExpiry): WireExpiry {
  const wire = ({ live, historical }: KeptSince): WireTimes => ({
    live: live === null ? null : String(live),
    historical: historical === null ? null : String(historical),
  });
  return {
    projectId,
    keptSince: wire(keptSince),
    events: events.map(({ event, ...times }) => ({ event, ...wire(times) })),
  };
}

export function fromWireExpiry({ projectId, keptSince, events }: WireExpiry): ProjectExpiry {
  const times = ({ live, historical }: WireTimes): KeptSince => ({
    live: live === null ? null : BigInt(live),
    historical: historical === null ? null : BigInt(historical),
  });
  return {
    projectId,
    keptSince: times(keptSince),
    events: events.map(({ event, ...wire }) => ({ event, ...times(wire) })),
  };
}

export interface WireEraseRows {
  readonly projectId: number;
  readonly filter: Omit<EventFilter, 'after' | 'before'> & { readonly after?: string; readonly before?: string };
}

export function wireEraseRows({ projectId, filter }: EraseRows): WireEraseRows {
  const { after, before, ...same } = filter;
  const times = {
    ...(after !== undefined && { after: String(after) }),
    ...(before !== undefined && { before: String(before) }),
  };
  return { projectId, filter: { ...same, ...times } };
}

export function eraseRowsOf({ projectId, filter }: WireEraseRows): EraseRows {
  const { after, before, ...same } = filter;
  const times = {
    ...(after !== undefined && { after: BigInt(after) }),
    ...(before !== undefined && { before: BigInt(before) }),
  };
  return { projectId, filter: { ...same, ...times } };
}

/** The body of a successful answer: JSON lines for a query, JSON for the removal of expired rows. */
export type StoreResponse =
  | { readonly id: number; readonly ok: true }
  | { readonly id: number; readonly ok: false; readonly message: string };
