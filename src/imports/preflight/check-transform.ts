import { isDeepStrictEqual } from 'node:util';
import { parseExactValues } from '../../base/exact-json.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { RunOptions } from '../run/run.ts';
import { transformEvents } from '../stages/check/segment/transform-events.ts';
import { TransformError, type Transform, type TransformOutcome } from '../transform.ts';
import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import { chosenReaderOf } from './chosen-reader-of.ts';
import type { PreflightContext } from './preflight-context.ts';

/** Enough to meet the usual kinds of events, in a fraction of the time that the preflight has. */
const eventsMax = 100;

export const checkTransform: PreflightCheck = {
  name: 'transform',
  look: async (context) => {
    const { deps, options, now, words } = context;
    if (options.transform === undefined || deps.openTransform === undefined) return [];
    try {
      const transform = await deps.openTransform(options.transform, now());
      return await tryOut(context, transform);
    } catch (error) {
      if (!(error instanceof TransformError)) throw error;
      return [problem('transform_failed', error.message, `correct it and ${words.startCorrected}`)];
    }
  },
  late: ({ options }, seconds) =>
    warning(
      'transform_slow',
      `the transform "${options.transform?.name ?? ''}" has not come to its end with the first events within ${seconds} s`,
      'see whether it asks for something at every event',
    ),
};

/** Set up twice: what it makes of the first events has to follow from them alone. */
async function tryOut(context: PreflightContext, transform: Transform): Promise<readonly Finding[]> {
  const events = await firstEvents(context);
  const first = await runOnce(transform, events);
  const again = await runOnce(transform, events);
  const { name } = transform;
  const refused = [...new Set([...first.refused, ...again.refused])].toSorted();
  const found: (Finding | undefined)[] = [
    refused.length === 0 ? undefined : refusedFinding(name, refused),
    // What it was refused it throws at.
    refused.length === 0 ? rejected(name, first.outcomes, context.options) : undefined,
    dropped(name, first.outcomes),
    unsteady(name, first.outcomes, again.outcomes),
  ];
  const findings = found.filter((finding) => finding !== undefined);
  return findings.length > 0 ? findings : [fine(`the transform "${name}" takes the first ${events.length} events`)];
}

/** None where the source gives none in time: then there is only the set-up to try. */
async function firstEvents({ estimate, options, now }: PreflightContext): Promise<readonly WireEvent[]> {
  const sample = await estimate();
  if (sample === undefined) return [];
  const read = chosenReaderOf(options, now());
  const events: WireEvent[] = [];
  for (const line of sample.lines) {
    if (events.length >= eventsMax) break;
    const result = read(recordIn(line));
    if (result.kind === 'events') events.push(...result.events);
  }
  return events.slice(0, eventsMax);
}

/** What is no JSON is no record: the look at the source says so. */
function recordIn(line: string): unknown {
  try {
    return parseExactValues(line);
  } catch {
    return undefined;
  }
}

interface Tried {
  readonly outcomes: readonly TransformOutcome[];
  readonly refused: ReadonlySet<string>;
}

async function runOnce(transform: Transform, events: readonly WireEvent[]): Promise<Tried> {
  const opened = await transform.open();
  try {
    return {
      outcomes: events.length === 0 ? [] : await transformEvents(transform, opened, events),
      refused: opened.refused,
    };
  } finally {
    await opened.close();
  }
}

function refusedFinding(name: string, refused: readonly string[]): Finding {
  return problem(
    'transform_refused',
    `the transform "${name}" asks for what an import has not: ${refused.join(', ')}`,
    'what becomes of an event has to follow from the event alone; take it out of the code, or bring what it needs with its settings',
  );
}

function rejected(name: string, outcomes: readonly TransformOutcome[], { choice }: RunOptions): Finding | undefined {
  const failures = outcomes.filter((outcome) => outcome.kind === 'failed');
  const [first] = failures;
  if (first === undefined) return undefined;
  const message = `${failures.length} of the first ${outcomes.length} events are rejected: ${first.reason}`;
  const advice = `correct the transform "${name}"`;
  // The tables that are joined have not been read yet: with their columns it may be well.
  return failures.length === outcomes.length && choice?.join === undefined
    ? problem('transform_rejects', message, advice)
    : warning('transform_rejects', message, advice);
}

function dropped(name: string, outcomes: readonly TransformOutcome[]): Finding | undefined {
  if (outcomes.length === 0 || outcomes.some(({ kind }) => kind !== 'dropped')) return undefined;
  const message = `the transform "${name}" drops all of the first ${outcomes.length} events`;
  return warning('transform_drops', message, 'see whether it returns the event: what returns nothing drops it');
}

/** An event that is another one at the next try would be stored beside the first. */
function unsteady(
  name: string,
  first: readonly TransformOutcome[],
  again: readonly TransformOutcome[],
): Finding | undefined {
  const differ = first.findIndex((outcome, index) => !isDeepStrictEqual(outcome, again[index]));
  if (differ < 0) return undefined;
  const message = `the transform "${name}" makes of the same event one thing now and another the next time`;
  const advice =
    'leave out the time of day, random values and what changes elsewhere; the time of the event is event.timestamp';
  const isSame = identityOf(first[differ]) === identityOf(again[differ]);
  return isSame ? warning('transform_unsteady', message, advice) : problem('transform_unsteady', message, advice);
}

/** What the store tells events by. */
function identityOf(outcome: TransformOutcome | undefined): string {
  if (outcome?.kind !== 'kept') return outcome?.kind ?? '';
  const { uuid, event, distinct_id: id, timestamp } = outcome.event;
  return JSON.stringify([uuid, event, id, timestamp]);
}
