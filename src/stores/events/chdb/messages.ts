/** What the supervisor and the process of the embedded engine tell each other over the IPC channel. */
export interface ProcessOptions {
  /** Absolute directory of the stored events. */
  readonly dir: string;
  /** Absolute directory of the spool files. */
  readonly spoolDir: string;
  readonly socketPath: string;
  readonly memoryBytesMax: number;
  readonly queryTimeoutMs: number;
}

export type ToProcess = { readonly kind: 'ping' };

export type FromProcess =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: StartFailure; readonly message: string }
  /** Ages of the oldest insert and query at work, 0 when there is none. */
  | { readonly kind: 'pong'; readonly insertMs: number; readonly queryMs: number };

/** platform: no binary; schema: written by a newer program; engine: anything that the engine says. */
export type StartFailure = 'platform' | 'schema' | 'engine';
