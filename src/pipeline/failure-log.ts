import type { Clock } from '../base/clock.ts';
import type { Log } from '../server/telemetry/log.ts';

const repeatMs = 60_000;

/** Failures of one slot's consumer. */
export interface FailureLog {
  /** The current failure as one sentence; empty: none. */
  readonly current: string;
  failed(error: unknown): void;
  recovered(): void;
}

/** Failures of all consumers of a process. */
export interface FailureLogs {
  of(slot: number): FailureLog;
}

interface Failing {
  readonly slots: Set<number>;
  readonly startedAt: number;
  loggedAt: number;
  tries: number;
}

/**
 * Logs one line when a failure begins, one a minute while it lasts and one when the last slot recovers, with the affected slots:
 * an unavailable server fails all slots of a process in the same way, at every retry.
 */
export function createFailureLogs(log: Log, clock: Clock): FailureLogs {
  const failures = new Map<string, Failing>();

  function failed(slot: number, text: string, error: unknown): void {
    const now = clock.now();
    const failing = failures.get(text) ?? { slots: new Set(), startedAt: now, loggedAt: -Infinity, tries: 0 };
    failures.set(text, failing);
    failing.slots.add(slot);
    failing.tries += 1;
    if (now - failing.loggedAt < repeatMs) return;
    failing.loggedAt = now;
    log.error({ err: error, slots: sorted(failing), tries: failing.tries }, 'pipeline stalled, retrying');
  }

  function ended(slot: number, text: string): Failing | undefined {
    const failing = failures.get(text);
    failing?.slots.delete(slot);
    if (failing === undefined || failing.slots.size > 0) return undefined;
    failures.delete(text);
    return failing;
  }

  function recovered(slot: number, text: string): void {
    const failing = ended(slot, text);
    if (failing === undefined) return;
    const seconds = Math.round((clock.now() - failing.startedAt) / 1000);
    log.info({ slot, seconds, tries: failing.tries }, 'pipeline recovered');
  }

  return {
    of: (slot) => {
      let current = '';
      return {
        get current() {
          return current;
        },
        failed: (error) => {
          const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
          if (text !== current) ended(slot, current);
          current = text;
          failed(slot, text, error);
        },
        recovered: () => {
          recovered(slot, current);
          current = '';
        },
      };
    },
  };
}

const sorted = ({ slots }: Failing): number[] => [...slots].toSorted((a, b) => a - b);
