import type { JsonObject, JsonValue, TransformEvent, Transformation } from '../plugins/plugin.ts';

/** One enabled config, ready to run. */
export interface ChainStep {
  readonly configId: number;
  /** How the event names it: `Drop events (12)`. */
  readonly label: string;
  readonly transform: Transformation;
}

/** What a run tells about each step, to be counted. */
export interface ChainTally {
  succeeded(step: ChainStep): void;
  failed(step: ChainStep, error: unknown): void;
  dropped(step: ChainStep): void;
}

export type ChainResult =
  | { readonly kind: 'kept'; readonly event: TransformEvent }
  | { readonly kind: 'dropped'; readonly step: ChainStep };

/** A transformation gave back something that is no event. */
export class InvalidResultError extends Error {
  override name = 'InvalidResultError';
}

/**
 * Runs an event through the steps, each on the result of the one before. `null` drops it. A step that fails counts as not
 * there: the event goes on as it was before it, without half of its edits, which is why `source` makes a fresh copy.
 * The event gains `$plugins_succeeded` and `$plugins_failed`, after what earlier places wrote there.
 */
export function runChain(steps: readonly ChainStep[], source: () => TransformEvent, tally: ChainTally): ChainResult {
  let event = source();
  const { uuid, team_id: teamId } = event;
  const succeeded: ChainStep[] = [];
  const failed: ChainStep[] = [];
  for (const step of steps) {
    try {
      const result = step.transform(event);
      if (result === null || result === undefined) {
        tally.dropped(step);
        return { kind: 'dropped', step };
      }
      event = checkedResult(result, uuid, teamId);
      succeeded.push(step);
      tally.succeeded(step);
    } catch (error) {
      failed.push(step);
      tally.failed(step, error);
      event = again(succeeded, source, uuid, teamId);
    }
  }
  if (steps.length > 0) {
    appendLabels(event.properties, '$plugins_succeeded', succeeded);
    appendLabels(event.properties, '$plugins_failed', failed);
  }
  return { kind: 'kept', event };
}

/** The event as it was before the step that failed: a fresh copy through the steps that went well. */
function again(
  steps: readonly ChainStep[],
  source: () => TransformEvent,
  uuid: string,
  teamId: number,
): TransformEvent {
  let event = source();
  for (const step of steps) {
    const result = step.transform(event);
    if (result !== null && result !== undefined) event = checkedResult(result, uuid, teamId);
  }
  return event;
}

function checkedResult(result: TransformEvent, uuid: string, teamId: number): TransformEvent {
  if (typeof result !== 'object') throw invalid('an event or null', result);
  if (!isObject(result.properties)) throw invalid('an event with an object "properties"', result.properties);
  if (typeof result.event !== 'string' || result.event === '') throw invalid('an event with a name', result.event);
  if (typeof result.distinct_id !== 'string' || result.distinct_id.trim() === '') {
    throw invalid('an event with a text "distinct_id"', result.distinct_id);
  }
  if (typeof result.timestamp !== 'string' || Number.isNaN(Date.parse(result.timestamp))) {
    throw invalid('an event with an ISO 8601 "timestamp"', result.timestamp);
  }
  if (result.uuid === uuid && result.team_id === teamId) return result;
  const { event, distinct_id, timestamp, properties } = result;
  return { uuid, event, distinct_id, team_id: teamId, timestamp, properties };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(expected: string, got: unknown): InvalidResultError {
  const shown = got === null ? 'null' : Array.isArray(got) ? 'an array' : typeof got;
  return new InvalidResultError(`expected the transformation to return ${expected}, got: ${shown}`);
}

function appendLabels(properties: JsonObject, key: string, steps: readonly ChainStep[]): void {
  const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
  const labels = steps.map((step) => step.label);
  properties[key] = Array.isArray(known) ? [...known, ...labels] : labels;
}
