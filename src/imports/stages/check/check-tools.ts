import type { JoinTable } from '../../choosing/join-table.ts';
import type { Transform } from '../../transform.ts';
import { openPlainMachine, type PlainMachine } from './fast/machine.ts';
import { tableOf, type TableText } from './read-tables.ts';

/** What a thread checks segments with, one after the other. */
export interface CheckTools {
  /** Undefined: all records are read as objects. */
  readonly machine: PlainMachine | undefined;
  /** Those of the choice's joins, in their order. */
  readonly tables: readonly JoinTable[];
  /** Undefined: the run has none. */
  readonly transform: Transform | undefined;
}

export function createCheckTools(tables: readonly TableText[], transform: Transform | undefined): CheckTools {
  return { machine: openPlainMachine(), tables: tables.map(tableOf), transform };
}
