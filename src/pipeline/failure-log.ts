import type { Clock } from '../base/clock.ts';
import type { Log } from '../telemetry/log.ts';

const repeatMs = 60_000;

/** One log line when the work starts to fail, one a minute while it does, one when it goes on: not one per try. */
export interface FailureLog {
  /** The failure as one sentence; empty when all is well. */
  readonly current: string;
  failed(error: unknown): void;
  recovered(): void;
}

export function createFailureLog(log: Log, clock: Clock): FailureLog {
  let current = '';
  let startedAt = 0;
  let loggedAt = 0;
  let tries = 0;
  return {
    get current() {
      return current;
    },
    failed: (error) => {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      const now = clock.now();
      tries += 1;
      if (current === '') startedAt = now;
      if (text !== current || now - loggedAt >= repeatMs) {
        log.error({ err: error, tries }, 'the pipeline cannot go on and tries again; nothing is lost');
        loggedAt = now;
      }
      current = text;
    },
    recovered: () => {
      if (current === '') return;
      log.info({ seconds: Math.round((clock.now() - startedAt) / 1000), tries }, 'the pipeline goes on');
      current = '';
      tries = 0;
    },
  };
}
