import type { EventOutcome, SandboxEvent } from '../../plugins/sandbox/sandbox.ts';

/** Running code, sandboxed or built in: returns an outcome for each event, in their order. */
export interface Runner {
  /** Throws TransformError if the code cannot run at all. */
  run(events: readonly SandboxEvent[]): Promise<readonly EventOutcome[]>;
  readonly refused: ReadonlySet<string>;
  close(): Promise<void>;
}
