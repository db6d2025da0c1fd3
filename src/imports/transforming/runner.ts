import type { EventOutcome, SandboxEvent } from '../../plugins/sandbox/sandbox.ts';

/** Code at work, of the sandbox or of this program: an outcome for each event, in their order. */
export interface Runner {
  /** Throws TransformError where the code cannot run at all. */
  run(events: readonly SandboxEvent[]): Promise<readonly EventOutcome[]>;
  readonly refused: ReadonlySet<string>;
  close(): Promise<void>;
}
