import type { Run, Stage } from './run.ts';

/** Receives events of the runs that a worker holds. Callbacks are synchronous and must not throw. */
export interface RunWatcher {
  entered(run: Run, stage: Stage): void;
  /** Called often, with the present progress and totals. */
  progressed(run: Run): void;
  /** Called with one sentence, whenever the reason changes. */
  waits(run: Run, reason: string): void;
  /** `lost`: paused, cancelled or claimed by another worker; `released`: the program stops. */
  ended(run: Run, how: 'completed' | 'failed' | 'lost' | 'released', reason: string): void;
}
