import { firstOf, plural } from '../../base/integer-text.ts';
import { isDeepStrictEqual } from 'node:util';
import { parseExactValues } from '../../base/exact-json.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { RunOptions } from '../run/run.ts';
import { transformEvents } from '../stages/check/segment/transform-events.ts';
import { TransformError, type Transform, type TransformOutcome } from '../transform.ts';
import { fine, problem, warning, type Finding, type PreflightCheck } from './findings.ts';
import { chosenReaderOf } from './chosen-reader-of.ts';
import type { PreflightContext } from './preflight-context.ts';

/** Enough for the usual kinds of events, in a fraction of the preflight's time. */
const eventsMax = 100;

export const checkTransform: PreflightCheck = {
  name: 'transform',
  run: async (context) => {
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
      `the transform "${options.transform?.name ?? ''}" did not finish the first events within ${seconds} s`,
      'check whether it makes a request for every event',
    ),
};

/** Sets the code up twice: its outcomes for the first events must depend on them alone. */
async function tryOut(context: PreflightContext, transform: Transform): Promise<readonly Finding[]> {
  const events = await firstEvents(context);
  const first = await runOnce(transform, events);
  const again = await runOnce(transform, events);
  const { name } = transform;
  const refused = [...new Set([...first.refused, ...again.refused])].toSorted();
  const found: (Finding | undefined)[] = [
    refused.length === 0 ? undefined : refusedFinding(name, refused),
    // It throws where it was refused something.
    refused.length === 0 ? rejected(name, first.outcomes, context.options) : undefined,
    dropped(name, first.outcomes),
    unsteady(name, first.outcomes, again.outcomes),
  ];
  const findings = found.filter((finding) => finding !== undefined);
  return findings.length > 0 ? findings : [fine(`the transform "${name}" takes ${firstOf(events.length, 'event')}`)];
}

/** Returns no events if the source provides none in time; then only the set-up is tried. */
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

/** Lines that are not JSON are not records; the check of the source reports them. */
function recordIn(line: string): unknown {
  try {
    return parseExactValues(line);
  } catch {
    return undefined;
  }
}

interface Trial {
  readonly outcomes: readonly TransformOutcome[];
  readonly refused: ReadonlySet<string>;
}

async function runOnce(transform: Transform, events: readonly WireEvent[]): Promise<Trial> {
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
    `the transform "${name}" uses what an import does not have: ${refused.join(', ')}`,
    'its outcome for an event must depend on the event alone; remove that from the code, or provide what it needs through its settings',
  );
}

function rejected(name: string, outcomes: readonly TransformOutcome[], { choice }: RunOptions): Finding | undefined {
  const failures = outcomes.filter((outcome) => outcome.kind === 'failed');
  const [first] = failures;
  if (first === undefined) return undefined;
  const some = firstOf(outcomes.length, 'event');
  const which = outcomes.length === 1 ? some : `${failures.length} of ${some}`;
  // The reason names the transform.
  const message = `${which} ${plural(failures.length, 'fails', 'fail')}: ${first.reason}`;
  const advice = `correct the transform "${name}"`;
  // Joined tables are not read yet; with their columns it may succeed.
  return failures.length === outcomes.length && choice?.join === undefined
    ? problem('transform_rejects', message, advice)
    : warning('transform_rejects', message, advice);
}

function dropped(name: string, outcomes: readonly TransformOutcome[]): Finding | undefined {
  if (outcomes.length === 0 || outcomes.some(({ kind }) => kind !== 'dropped')) return undefined;
  const message = `the transform "${name}" drops ${outcomes.length === 1 ? '' : 'all of '}${firstOf(outcomes.length, 'event')}`;
  return warning('transform_drops', message, 'check that it returns the event: returning nothing drops it');
}

/** Finds events that differ at the next attempt, and would be stored twice. */
function unsteady(
  name: string,
  first: readonly TransformOutcome[],
  again: readonly TransformOutcome[],
): Finding | undefined {
  const differ = first.findIndex((outcome, index) => !isDeepStrictEqual(outcome, again[index]));
  if (differ < 0) return undefined;
  const message = `the transform "${name}" returns something else for the same event each time`;
  const advice = 'avoid the present time, random values and external state; the time of the event is event.timestamp';
  const isSame = identityOf(first[differ]) === identityOf(again[differ]);
  return isSame ? warning('transform_unsteady', message, advice) : problem('transform_unsteady', message, advice);
}

/** Returns what distinguishes events in the store. */
function identityOf(outcome: TransformOutcome | undefined): string {
  if (outcome?.kind !== 'kept') return outcome?.kind ?? '';
  const { uuid, event, distinct_id: id, timestamp } = outcome.event;
  return JSON.stringify([uuid, event, id, timestamp]);
}
