import { openPlainMachine, type PlainMachine } from './plain/machine.ts';
import { createSpillBuffer, type SpillBuffer, type SpillLimits } from './spill-buffer.ts';

/** What a thread checks segments with, one after the other. */
export interface CheckTools {
  readonly buffer: SpillBuffer;
  /** Undefined: all records are read as objects. */
  readonly machine: PlainMachine | undefined;
}

export function createCheckTools(limits: SpillLimits): CheckTools {
  return { buffer: createSpillBuffer(limits), machine: openPlainMachine() };
}
