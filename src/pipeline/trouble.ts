import type { Clock } from '../base/clock.ts';
import type { Log } from '../telemetry/log.ts';

const repeatMs = 60_000;

/** One log line when trouble starts, one a minute while it lasts, one when it is over: not one per try. */
export interface TroubleLog {
  /** Trouble as one sentence; empty when all is well. */
  readonly current: string;
  report(error: unknown): void;
  over(): void;
}

export function createTroubleLog(log: Log, clock: Clock): TroubleLog {
  let current = '';
  let startedAt = 0;
  let loggedAt = 0;
  let tries = 0;
  return {
    get current() {
      return current;
    },
    report: (error) => {
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
    over: () => {
      if (current === '') return;
      log.info({ seconds: Math.round((clock.now() - startedAt) / 1000), tries }, 'the pipeline goes on');
      current = '';
      tries = 0;
    },
  };
}
