import { openPlainMachine, type PlainMachine } from './plain/machine.ts';

/** What a thread checks segments with, one after the other. */
export interface CheckTools {
  /** Undefined: all records are read as objects. */
  readonly machine: PlainMachine | undefined;
}

export function createCheckTools(): CheckTools {
  return { machine: openPlainMachine() };
}
