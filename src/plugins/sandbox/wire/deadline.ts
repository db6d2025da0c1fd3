import { readSync, writeSync } from 'node:fs';

/** File descriptors that the process inherits from the service. */
export const socketDescriptor = 3;
export const deadlineDescriptor = 4;

/**
 * The current activity of the plugin process, in a file that both sides hold open, so that it can be read when the process is
 * stuck or dead. u32 instance (0: none), 4 unused bytes, f64 time by which the current entry must return, in ms of the machine's
 * monotonic clock, which is the same for both.
 */
interface Deadline {
  readonly instance: number;
  readonly until: number;
}

const deadlineBytes = 16;

export function writeDeadline(file: number, { instance, until }: Deadline): void {
  const bytes = Buffer.alloc(deadlineBytes);
  bytes.writeUInt32LE(instance, 0);
  bytes.writeDoubleLE(until, 8);
  writeSync(file, bytes, 0, deadlineBytes, 0);
}

export function readDeadline(file: number): Deadline {
  const bytes = Buffer.alloc(deadlineBytes);
  if (readSync(file, bytes, 0, deadlineBytes, 0) < deadlineBytes) return { instance: 0, until: 0 };
  return { instance: bytes.readUInt32LE(0), until: bytes.readDoubleLE(8) };
}

export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}
