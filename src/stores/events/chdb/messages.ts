/** Messages between the supervisor and the process of the embedded engine over the IPC channel. */
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
  /** Ages of the oldest running insert and query, or 0. */
  | { readonly kind: 'pong'; readonly insertMs: number; readonly queryMs: number };

/** platform: no binary; schema: written by a newer program; engine: any error of the engine. */
export type StartFailure = 'platform' | 'schema' | 'engine';
