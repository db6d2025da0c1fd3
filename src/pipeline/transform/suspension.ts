import { backoffMs } from '../../base/retry.ts';
import type { EventOutcome, InstanceServices, SandboxError } from '../../plugins/sandbox/sandbox.ts';
import type { StepOutcome } from './step.ts';

/** Events in a row that used up their time or brought their process down, after which a plugin is left out for a while. */
const wastedMax = 3;
const firstPauseMs = 5000;
/** A pause is at least so many times as long as what it follows held everybody up: a tenth of the time is the most it costs. */
const pausePerLoss = 9;
const pauseMsMax = 300_000;

/**
 * Keeps a plugin that hangs or crashes from holding up everybody's events: after three such events in a row the plugin is left
 * out for 5 s, or nine times as long as it held up the others if that is more, then tried with one event; each further time the
 * pause doubles, up to 5 min. Events that pass meanwhile count as skipped. Its log says so, and its error stays on record.
 */
export interface Suspension {
  /** Empty: it takes part. */
  trouble(): string;
  run(count: number, work: Work): Promise<readonly StepOutcome[]>;
}

/** Runs events [from, to). */
type Work = (from: number, to: number) => Promise<readonly EventOutcome[]>;

/** `now` in ms, never going back. */
export function createSuspension(services: Pick<InstanceServices, 'log'>, now: () => number): Suspension {
  let until = 0;
  let pauses = 0;
  let wasted = 0;
  let cause = '';

  const note = (outcomes: readonly EventOutcome[], tookMs: number): void => {
    for (const outcome of outcomes) {
      const waste = wasteOf(outcome);
      wasted = waste === undefined ? 0 : wasted + 1;
      if (wasted === 1) cause = waste?.message ?? '';
    }
    if (wasted < wastedMax) {
      if (wasted === 0 && outcomes.length > 0) pauses = until = 0;
      return;
    }
    const pauseMs = Math.max(backoffMs(pauses, firstPauseMs, pauseMsMax), Math.min(tookMs * pausePerLoss, pauseMsMax));
    until = now() + pauseMs;
    pauses += 1;
    services.log({
      time: Date.now(),
      level: 'ERROR',
      source: 'SYSTEM',
      message: `left out for ${Math.round(pauseMs / 1000)} s, events pass unchanged: ${cause}`,
      instanceId: '',
    });
  };

  const timed = async (from: number, to: number, work: Work): Promise<readonly EventOutcome[]> => {
    const startedAt = now();
    const outcomes = await work(from, to);
    note(outcomes, now() - startedAt);
    return outcomes;
  };

  return {
    trouble: () => (until > 0 ? `left out for a while, events pass unchanged: ${cause}` : ''),
    run: async (count, work) => {
      if (now() < until) return skipped(count);
      if (wasted < wastedMax) return timed(0, count, work);
      // After a pause: one event shows whether all is well again.
      const first = await timed(0, 1, work);
      if (wasted > 0) return [...first, ...skipped(count - 1)];
      return count > 1 ? [...first, ...(await timed(1, count, work))] : first;
    },
  };
}

function skipped(count: number): StepOutcome[] {
  return Array.from({ length: count }, () => ({ kind: 'skipped' }));
}

function wasteOf(outcome: EventOutcome): SandboxError | undefined {
  if (outcome.kind !== 'failed') return undefined;
  return ['time', 'memory', 'crashed'].includes(outcome.error.kind) ? outcome.error : undefined;
}
