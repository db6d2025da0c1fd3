import type { TransformEvent } from '../../plugins/plugin.ts';
import { isObject } from '../../base/json.ts';
import type { ChainEvent } from './chain-event.ts';
import { batchEventsMax, type DirectStep, type Step, type StepOutcome } from './step.ts';

/** Receives the results of each step of a run. */
export interface ChainTally {
  succeeded(step: Step): void;
  /** @param event as it was before the step */
  failed(step: Step, error: unknown, event: ChainEvent): void;
  dropped(step: Step): void;
  skipped(step: Step): void;
  /** Time that the step took for a number of events, ms. */
  took(step: Step, ms: number): void;
}

/** A transformation returned something other than an event. */
export class InvalidResultError extends Error {
  override name = 'InvalidResultError';
}

/** A transformation tried to move an event to another project. */
export class MovedTeamError extends Error {
  override name = 'MovedTeamError';
}

/** Events that pass the direct steps together: few enough to stay in the processor's cache. */
const blockEvents = 64;

/**
 * Runs events through the steps, each on the result of the previous one. `null` drops an event (`droppedBy`). A failed step has no
 * effect: the event continues as it was before, without partial edits. Labels record which steps succeeded and which failed. The
 * order of the events is preserved.
 */
export async function runChain(
  steps: readonly Step[],
  events: readonly ChainEvent[],
  tally: ChainTally,
): Promise<void> {
  for (let at = 0; at < steps.length;) {
    const step = steps[at] as Step;
    const live = events.filter((event) => event.droppedBy === undefined);
    if (live.length === 0) return;
    if (step.kind === 'batch') {
      const accepted = live.filter((event) => accepts(step, event, tally));
      for (let from = 0; from < accepted.length; from += batchEventsMax) {
        await runBatch(step, accepted.slice(from, from + batchEventsMax), tally);
      }
      at += 1;
      continue;
    }
    const run = directRun(steps, at);
    runDirect(run, live, tally);
    at += run.length;
  }
}

/** Returns the direct steps from `at` up to the next batch step. */
function directRun(steps: readonly Step[], at: number): DirectStep[] {
  const run: DirectStep[] = [];
  for (let index = at; index < steps.length; index++) {
    const step = steps[index] as Step;
    if (step.kind !== 'direct') break;
    run.push(step);
  }
  return run;
}

/** Does what `runChain` does if all steps are direct: synchronously. */
export function runDirect(steps: readonly DirectStep[], events: readonly ChainEvent[], tally: ChainTally): void {
  for (let from = 0; from < events.length; from += blockEvents) {
    runBlock(
      steps,
      from === 0 && events.length <= blockEvents ? events : events.slice(from, from + blockEvents),
      tally,
    );
  }
}

function runBlock(steps: readonly DirectStep[], events: readonly ChainEvent[], tally: ChainTally): void {
  const befores = events.map((event) => event.save());
  for (const event of events) event.mark();
  const failed: (Set<DirectStep> | undefined)[] = [];
  let startedAt = performance.now();
  for (const [at, step] of steps.entries()) {
    for (const [index, event] of events.entries()) {
      if (event.droppedBy !== undefined || !accepts(step, event, tally)) continue;
      try {
        apply(step, event, tally);
      } catch (error) {
        const stepsFailed = (failed[index] ??= new Set());
        stepsFailed.add(step);
        rollBack(event, befores[index] as Saved, steps.slice(0, at), stepsFailed);
        tally.failed(step, error, event);
        event.failed.push(step.label);
        event.mark();
      }
    }
    const endedAt = performance.now();
    tally.took(step, endedAt - startedAt);
    startedAt = endedAt;
  }
}

type Saved = ReturnType<ChainEvent['save']>;

function accepts(step: Step, event: ChainEvent, tally: ChainTally): boolean {
  if (step.accepts === undefined || step.accepts(event)) return true;
  tally.skipped(step);
  return false;
}

function apply(step: DirectStep, event: ChainEvent, tally: ChainTally): void {
  const before = event.object;
  const { timestamp, uuid } = before;
  const result = step.transform(before);
  if (result === null || result === undefined) {
    event.droppedBy = step;
    tally.dropped(step);
    return;
  }
  take(event, result, { timestamp, uuid });
  event.succeeded.push(step.label);
  tally.succeeded(step);
}

/** Checks a result and makes it the event's state. */
function take(event: ChainEvent, result: TransformEvent, before: { timestamp: string; uuid: string }): void {
  checkResult(result, before);
  const moved = result.team_id !== event.teamId;
  if (moved) {
    const { uuid, event: name, distinct_id, timestamp, properties } = result;
    event.object = { uuid, event: name, distinct_id, team_id: event.teamId, timestamp, properties };
  } else if (result !== event.object) {
    event.object = result;
  }
  event.mark();
}

/** Restores the event to its state before the failed step by repeating the steps that succeeded. */
function rollBack(
  event: ChainEvent,
  before: Saved,
  steps: readonly DirectStep[],
  failed: ReadonlySet<DirectStep>,
): void {
  event.restore(before);
  event.mark();
  for (const step of steps) {
    if (failed.has(step) || step.accepts?.(event) === false) continue;
    const { timestamp, uuid } = event.object;
    const result = step.transform(event.object);
    if (result !== null && result !== undefined) take(event, result, { timestamp, uuid });
  }
}

async function runBatch(
  step: Extract<Step, { kind: 'batch' }>,
  events: readonly ChainEvent[],
  tally: ChainTally,
): Promise<void> {
  const befores = events.map((event) => event.save());
  const startedAt = performance.now();
  const outcomes = await step.run(events);
  tally.took(step, performance.now() - startedAt);
  for (const [index, event] of events.entries()) {
    const outcome = outcomes[index] ?? { kind: 'failed', error: new InvalidResultError('expected a result per event') };
    applyOutcome(step, event, outcome, befores[index] as Saved, tally);
  }
}

function applyOutcome(step: Step, event: ChainEvent, outcome: StepOutcome, before: Saved, tally: ChainTally): void {
  const fail = (error: unknown): void => {
    tally.failed(step, error, event);
    event.failed.push(step.label);
    event.mark();
  };
  switch (outcome.kind) {
    case 'dropped':
      event.droppedBy = step;
      tally.dropped(step);
      return;
    case 'failed':
      event.restore(before);
      fail(outcome.error);
      return;
    case 'skipped':
      tally.skipped(step);
      return;
    case 'changed':
      event.setText(outcome, outcome.propertiesText);
      if (outcome.movedTeam)
        return fail(new MovedTeamError('expected the event to stay in its project, got another team_id; it stays'));
      break;
    case 'kept':
      event.mark();
      break;
    case 'unchanged':
      event.mark();
  }
  event.succeeded.push(step.label);
  tally.succeeded(step);
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** @throws InvalidResultError */
export function checkResult(
  result: TransformEvent,
  before: { readonly timestamp: string; readonly uuid: string },
): void {
  if (typeof result !== 'object') throw invalid('an event or null', result);
  if (!isObject(result.properties)) throw invalid('an event with an object "properties"', result.properties);
  if (typeof result.event !== 'string' || result.event === '') throw invalid('an event with a name', result.event);
  if (typeof result.distinct_id !== 'string' || result.distinct_id.trim() === '') {
    throw invalid('an event with a text "distinct_id"', result.distinct_id);
  }
  const { timestamp, uuid } = result;
  if (timestamp !== before.timestamp && (typeof timestamp !== 'string' || Number.isNaN(Date.parse(timestamp)))) {
    throw invalid('an event with an ISO 8601 "timestamp"', timestamp);
  }
  if (uuid !== before.uuid && (typeof uuid !== 'string' || !uuidForm.test(uuid))) {
    throw invalid('an event with a lower-case "uuid"', uuid);
  }
}

function invalid(expected: string, got: unknown): InvalidResultError {
  const shown = got === null ? 'null' : Array.isArray(got) ? 'an array' : typeof got;
  return new InvalidResultError(`expected the transformation to return ${expected}, got: ${shown}`);
}
