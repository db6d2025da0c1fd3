/** Memory limits of processes that read untrusted input. */
import { totalmem } from 'node:os';
import { importSettings } from '../config/import-settings.ts';
import type { Settings } from '../config/settings.ts';

const gibibyte = 1024 ** 3;
const ownMin = gibibyte / 2;
const ownMax = 4 * gibibyte;

export const importMemoryEnv = importSettings.importMemoryBytesMax.env;
export const previewMemoryEnv = importSettings.importPreviewMemoryBytesMax.env;

/** Defaults to half of the memory of the machine or container. */
export function importMemoryBytesMax({ importMemoryBytesMax: set }: Pick<Settings, 'importMemoryBytesMax'>): number {
  if (set > 0) return set;
  const machine = totalmem();
  const container = process.constrainedMemory();
  // Without a limit it is 0, or more than any machine has.
  const bytes = container > 0 ? Math.min(container, machine) : machine;
  return Math.min(ownMax, Math.max(ownMin, Math.floor(bytes / 2)));
}
