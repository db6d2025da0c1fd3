import { isoMicros } from '../base/clock.ts';
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { Difference } from './diff-json.ts';
import type { TrialEvent } from './trial-event.ts';
import type { TrialError, TrialOutcome, TrialResult, TrialStepResult, Truncated } from './trial-run.ts';

/** A trial as the API answers it and the command prints it. */
export interface TrialRecord {
  readonly before: TrialEvent;
  readonly after: TrialEvent | null;
  readonly outcome: TrialOutcome;
  readonly steps: readonly TrialStepRecord[];
  readonly truncated: readonly Truncated[];
}

export interface TrialStepRecord extends TrialRunRecord {
  readonly config_id: number;
  readonly name: string;
  readonly outcome: TrialOutcome;
  readonly after: TrialEvent | null;
}

/** What one config did. Times are ISO 8601 UTC. */
export interface TrialRunRecord {
  readonly diff: readonly Difference[];
  readonly logs: readonly {
    readonly timestamp: string;
    readonly level: string;
    readonly source: string;
    readonly message: string;
  }[];
  readonly error: TrialError | null;
  readonly captured: readonly {
    readonly event: string;
    readonly distinct_id: string;
    readonly timestamp: string;
    readonly properties: JsonObject;
  }[];
  readonly jobs: readonly { readonly name: string; readonly payload: JsonObject; readonly run_at: string }[];
  readonly storage: Readonly<Record<string, JsonValue>>;
  readonly metrics: readonly { readonly name: string; readonly kind: string; readonly value: number }[];
  readonly time_ms: number;
  readonly truncated: readonly Truncated[];
}

export function toTrialRecord({ before, after, outcome, steps, truncated }: TrialResult): TrialRecord {
  return { before, after, outcome, steps: steps.map(toStepRecord), truncated };
}

function toStepRecord(step: TrialStepResult): TrialStepRecord {
  const { configId: config_id, name, outcome, after } = step;
  return { config_id, name, outcome, after, ...toRunRecord(step) };
}

export function toRunRecord(step: TrialStepResult): TrialRunRecord {
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
