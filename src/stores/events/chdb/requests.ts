import type { QueryParam, RunDays } from '../eventstore.ts';
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
  | { readonly id: number; readonly kind: 'change-run-table'; readonly change: RunTableChange }
  | { readonly id: number; readonly kind: 'query'; readonly sql: string; readonly params: Record<string, WireParam> }
  | { readonly id: number; readonly kind: 'health' };

/** A 64-bit integer is sent as text in an object. */
export type WireParam = Exclude<QueryParam, bigint> | { readonly bigint: string };

/** The body of a successful answer: JSON lines for a query. */
export type StoreResponse =
  | { readonly id: number; readonly ok: true }
  | { readonly id: number; readonly ok: false; readonly message: string };
