import { backoffMs } from '../base/backoff.ts';
import { SandboxError, type EventOutcome, type InstanceServices } from '../sandbox/sandbox.ts';
import type { StepOutcome } from './step.ts';

/** Events in a row that used up their time or brought their process down, after which a plugin is left out for a while. */
const wastedMax = 3;
const firstPauseMs = 5000;
const pauseMsMax = 300_000;

/**
 * Keeps a plugin that hangs or crashes from holding up everybody's events: after three such events in a row the plugin is left
 * out for 5 s, then tried with one event; each further time the pause doubles, up to 5 min. Events that pass meanwhile count as
 * skipped. Its log says so, and its error stays on record.
 */
export interface Suspension {
  /** Empty: it takes part. */
  trouble(): string;
  /** `work` runs events [from, to). */
  run(
    count: number,
    work: (from: number, to: number) => Promise<readonly EventOutcome[]>,
  ): Promise<readonly StepOutcome[]>;
}

/** `now` in ms, never going back. */
export function createSuspension(services: Pick<InstanceServices, 'log'>, now: () => number): Suspension {
  let until = 0;
  let pauses = 0;
  let wasted = 0;

  const note = (outcomes: readonly EventOutcome[]): void => {
    for (const outcome of outcomes) wasted = isWaste(outcome) ? wasted + 1 : 0;
    if (wasted < wastedMax) {
      if (wasted === 0 && outcomes.length > 0) pauses = until = 0;
      return;
    }
    const pauseMs = backoffMs(pauses, firstPauseMs, pauseMsMax);
    until = now() + pauseMs;
    pauses += 1;
    services.log({
      time: Date.now(),
      level: 'ERROR',
      source: 'SYSTEM',
      message: `left out for ${Math.round(pauseMs / 1000)} s: its last ${wasted} events took too long or ended its process; events pass unchanged`,
      instanceId: '',
    });
  };

  return {
    trouble: () =>
      until > 0 ? 'left out for a while: events took too long or ended its process; they pass unchanged' : '',
    run: async (count, work) => {
      if (now() < until) return skipped(count);
      if (wasted < wastedMax) {
        const outcomes = await work(0, count);
        note(outcomes);
        return outcomes;
      }
      // After a pause: one event shows whether all is well again.
      const first = await work(0, 1);
      note(first);
      if (wasted > 0) return [...first, ...skipped(count - 1)];
      const rest = count > 1 ? await work(1, count) : [];
      note(rest);
      return [...first, ...rest];
    },
  };
}

function skipped(count: number): StepOutcome[] {
  return Array.from({ length: count }, () => ({ kind: 'skipped' }));
}

function isWaste(outcome: EventOutcome): boolean {
  if (outcome.kind !== 'failed' || !(outcome.error instanceof SandboxError)) return false;
  return ['time', 'memory', 'crashed'].includes(outcome.error.kind);
}
