import { isoMicros } from '../../base/clock.ts';
import type { TrialResult, TrialStepResult } from './trial-run.ts';

/** A trial as the API returns it and the command prints it. */
export type TrialRecord = ReturnType<typeof toTrialRecord>;
export type TrialStepRecord = TrialRecord['steps'][number];

export function toTrialRecord({ before, after, outcome, steps, truncated }: TrialResult) {
  return { before, after, outcome, steps: steps.map(toStepRecord), truncated };
}

function toStepRecord(step: TrialStepResult) {
  const { configId: config_id, name, outcome, after } = step;
  return { config_id, name, outcome, after, ...toRunRecord(step) };
}

/** Converts the effects of one config. Times are ISO 8601 UTC. */
export function toRunRecord(step: TrialStepResult) {
  const { diff, error, captured, jobs, storage, metrics } = step;
  return {
    diff,
    logs: step.logs.map(({ time, level, source, message }) => ({ timestamp: isoMicros(time), level, source, message })),
    error,
    captured: captured.map(({ event, distinctId: distinct_id, timestamp, properties }) => ({
      event,
      distinct_id,
      timestamp,
      properties,
    })),
    jobs: jobs.map(({ name, payload, runAt }) => ({ name, payload, run_at: isoMicros(runAt) })),
    storage,
    metrics,
    time_ms: Math.round(step.timeMs * 1000) / 1000,
    truncated: step.truncated,
  };
}
