import type { JoinTable } from '../../choosing/join-table.ts';
import type { Transform } from '../../transform.ts';
import { openPlainMachine, type PlainMachine } from './fast/machine.ts';
import { tableOf, type TableText } from './read-tables.ts';

/** Tools of a thread that checks segments, one at a time. */
export interface CheckTools {
  /** `undefined` if all records are read as objects. */
  readonly machine: PlainMachine | undefined;
  /** Tables of the joins, in their order. */
  readonly tables: readonly JoinTable[];
  readonly transform: Transform | undefined;
}

export function createCheckTools(tables: readonly TableText[], transform: Transform | undefined): CheckTools {
  return { machine: openPlainMachine(), tables: tables.map(tableOf), transform };
}
