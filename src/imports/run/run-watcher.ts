import type { Run, Stage } from './run.ts';

/** Told of what becomes of the runs that a worker has in hand. Nothing of it waits, or throws. */
export interface RunWatcher {
  entered(run: Run, stage: Stage): void;
  /** With the progress and totals of now; often. */
  progressed(run: Run): void;
  /** One sentence; told once for each reason that differs from the one before. */
  waits(run: Run, reason: string): void;
  /** `let_go`: paused, cancelled or taken over; `given_back`: the program stops. */
  ended(run: Run, how: 'completed' | 'failed' | 'let_go' | 'given_back', reason: string): void;
}
