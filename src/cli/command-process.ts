import type { Readable, Writable } from 'node:stream';

type Signal = 'SIGINT' | 'SIGTERM';

/** Where a command writes; a terminal says how wide it is and how many colours it has. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  getColorDepth?(env?: object): number;
}

/** The process as a command sees it: the real one, or what a test puts in its place to run a command without a start. */
export interface CommandProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Output;
  readonly stderr: Output;
  on(signal: Signal, listener: (signal: Signal) => void): unknown;
  off(signal: Signal, listener: (signal: Signal) => void): unknown;
  exit(code: number): void;
}
