import { isoOfMicros } from '../../base/clock.ts';
import { parseTimestamp } from '../../batch/timestamps.ts';
import type { WireEvent } from '../../contract/wire-event.ts';
import { isObject, objectIn } from '../../base/json.ts';
import type { SandboxError, EventOutcome, SandboxEvent } from '../../sandbox/sandbox.ts';
import type { Transform, TransformFault, TransformOutcome } from '../transform.ts';
import type { Json } from '../formats/read-values.ts';
import { keepDigits } from './keep-digits.ts';
import type { Runner } from './runner.ts';

export interface TransformOptions {
  readonly name: string;
  readonly projectId: number;
  /** ms since the epoch: what events say of their arrival, the same at every retry. */
  readonly receivedAt: number;
}

export interface TransformDeps extends TransformOptions {
  /** Sets the code up. Throws TransformError. */
  readonly openRunner: () => Promise<Runner>;
  /** Takes secrets out of a text. */
  readonly mask: (text: string) => string;
}

/** Hands events over as the pipeline hands them to plugins, and takes back what they became. */
export function createTransform(deps: TransformDeps): Transform {
  return {
    name: deps.name,
    open: async () => {
      const runner = await deps.openRunner();
      return {
        refused: runner.refused,
        run: (events) => runEvents(deps, runner, events),
        close: () => runner.close(),
      };
    },
  };
}

async function runEvents(
  deps: TransformDeps,
  runner: Runner,
  events: readonly WireEvent[],
): Promise<readonly TransformOutcome[]> {
  const handed = events.map((event) => (isWhole(event) ? handedOver(event, deps) : undefined));
  const outcomes = await runner.run(handed.filter((event) => event !== undefined));
  let next = 0;
  return events.map((event, index): TransformOutcome => {
    const given = handed[index];
    // What is no event at all is refused by the check, in its own words.
    if (given === undefined) return { kind: 'kept', event };
    const outcome = outcomes[next];
    next += 1;
    if (outcome === undefined) return failed(deps, 'transform_failed', 'expected a result per event, got none');
    return toOutcome(deps, event, given, outcome);
  });
}

function isWhole({ uuid, event, distinct_id: id, timestamp, properties }: WireEvent): boolean {
  return [uuid, event, id, timestamp].every((text) => typeof text === 'string') && isObject(properties);
}

function handedOver(event: WireEvent, { projectId, receivedAt }: TransformOptions): SandboxEvent {
  const micros = parseTimestamp(event.timestamp);
  // Keeps the target from taking an old address for a place of today; code that is asked for here is meant to.
  const { $geoip_disable: _, ...properties } = event.properties;
  return {
    uuid: event.uuid,
    event: event.event,
    distinctId: event.distinct_id,
    teamId: projectId,
    // A time that nobody can read may be one that the code can.
    timestamp: micros === undefined ? event.timestamp : isoOfMicros(micros),
    receivedAt,
    propertiesText: JSON.stringify(properties),
    markers: null,
  };
}

function toOutcome(
  deps: TransformDeps,
  event: WireEvent,
  given: SandboxEvent,
  outcome: EventOutcome,
): TransformOutcome {
  switch (outcome.kind) {
    case 'unchanged':
      return { kind: 'kept', event };
    case 'dropped':
      return { kind: 'dropped' };
    case 'failed':
      return failed(deps, faultOf(outcome.error), describe(outcome.error));
    case 'changed':
      if (outcome.movedTeam) return failed(deps, 'transform_failed', 'it moved the event to another project');
      return changed(deps, event, given, outcome);
  }
}

function changed(
  deps: TransformDeps,
  event: WireEvent,
  given: SandboxEvent,
  { uuid, event: name, distinctId, timestamp, propertiesText }: Extract<EventOutcome, { kind: 'changed' }>,
): TransformOutcome {
  const after = objectIn(propertiesText);
  if (after === undefined) return failed(deps, 'transform_failed', 'it gave back properties that are no object');
  const before = { before: event.properties, beforeText: given.propertiesText };
  const kept = keepDigits(before, after, [name, distinctId]);
  if (kept.kind === 'lost') {
    const reason = `it wrote ${kept.number} into a text, rounded: JavaScript holds no more than 17 digits; let the source give it as text`;
    return failed(deps, 'transform_digits', reason);
  }
  return {
    kind: 'kept',
    event: {
      uuid,
      event: name,
      distinct_id: distinctId,
      // As the source wrote it, unless the code wrote another one.
      timestamp: timestamp === given.timestamp ? event.timestamp : timestamp,
      properties: markedAs(event, kept.properties),
    },
  };
}

function markedAs({ properties: { $geoip_disable: mark } }: WireEvent, properties: Json): Json {
  return mark === undefined ? properties : { ...properties, $geoip_disable: mark };
}

const stopped: ReadonlySet<SandboxError['kind']> = new Set(['time', 'memory', 'crashed']);

function faultOf(error: SandboxError): TransformFault {
  return stopped.has(error.kind) ? 'transform_stopped' : 'transform_failed';
}

const messageCharsMax = 500;

function describe({ kind, errorName, message }: SandboxError): string {
  const text = message.slice(0, messageCharsMax);
  return kind === 'thrown' ? `${errorName}: ${text}` : text;
}

function failed({ name, mask }: TransformDeps, code: TransformFault, reason: string): TransformOutcome {
  return { kind: 'failed', code, reason: `the transform "${name}": ${mask(reason)}` };
}
