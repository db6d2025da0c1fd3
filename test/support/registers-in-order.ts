import { parseRegisters } from '../../src/persons/registers-text.ts';
import type { Register } from '../../src/persons/registers.ts';

/** Registers as they are stored, by name: which of them stand first depends on what was known when. */
export function registersInOrder(text: string): Readonly<Record<string, Register>> {
  return Object.fromEntries([...parseRegisters(text)].sort(([a], [b]) => (a < b ? -1 : 1)));
}
