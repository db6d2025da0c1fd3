import { readSync, writeSync } from 'node:fs';

/**
 * What the process of the plugins is doing right now, in a file that both sides hold open: it can be read when the process is
 * stuck or dead. u32 instance (0: none), 4 bytes nothing, f64 time until which the current entry must be back, in ms of the
 * machine's monotonic clock, which is the same for both.
 */
/** File descriptors that the service hands over to the process. */
export const socketDescriptor = 3;
export const noteDescriptor = 4;

const noteBytes = 16;
const note = Buffer.alloc(noteBytes);

export function writeNote(file: number, instance: number, until: number): void {
  note.writeUInt32LE(instance, 0);
  note.writeDoubleLE(until, 8);
  writeSync(file, note, 0, noteBytes, 0);
}

export function readNote(file: number): { readonly instance: number; readonly until: number } {
  if (readSync(file, note, 0, noteBytes, 0) < noteBytes) return { instance: 0, until: 0 };
  return { instance: note.readUInt32LE(0), until: note.readDoubleLE(8) };
}

export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
