import { SandboxError, type EventOutcome, type SandboxErrorKind, type SandboxEvent } from '../sandbox.ts';

/** How the work on some events ended; results so far are in the outcomes. `poisonInRow` counts the last consecutive failures. */
export type SliceEnd =
  | { readonly kind: 'done'; readonly poisonInRow: number; readonly nonsense: SandboxError | undefined }
  | {
      readonly kind: 'lost';
      readonly cause: Extract<SandboxErrorKind, 'memory' | 'crashed' | 'time' | 'aborted'>;
      readonly suspect: boolean;
      readonly message: string;
    };

interface EventRunner {
  readonly method: string;
  /** @throws SandboxError if no isolate can be created */
  ensureOpen(): Promise<void>;
  /** `isFirst` false means that the preceding events were sent before, and their failures count. */
  run(events: readonly SandboxEvent[], outcomes: (EventOutcome | undefined)[], isFirst: boolean): Promise<SliceEnd>;
}

const sliceEventsMax = 128;
/** Much larger texts cost more per byte because they exceed what the machine and V8 handle fast. */
const sliceLengthMax = 49_152;
/** Slices sent together, so that the process does not go idle between them. */
const slicesAtOnce = 4;
const poisonInRowMax = 3;
const lossesMax = 5;
/** A single crash may be a kill from outside (by the system when memory is short) that hit the plugin by chance. */
export const ownCrashesMax = 2;

/**
 * Runs events through an isolate in slices. When the isolate or process is lost, the affected events are run again one by one,
 * so that only the culprits fail; after several consecutive culprits the rest is not tried.
 */
export async function runEvents(
  events: readonly SandboxEvent[],
  runner: EventRunner,
): Promise<readonly EventOutcome[]> {
  const outcomes: EventOutcome[] = [];
  let poisonInRow = 0;
  while (outcomes.length < events.length) {
    if (poisonInRow >= poisonInRowMax) {
      const message = `${poisonInRow} events in a row exceeded time or memory limits, so the rest was not tried`;
      return failRest(outcomes, events.length, new SandboxError('time', message, { method: runner.method }));
    }
    try {
      poisonInRow = await runSlices(nextSlices(events, outcomes.length), outcomes, poisonInRow, runner);
    } catch (error) {
      // Without an isolate no event can be processed.
      if (!(error instanceof SandboxError)) throw error;
      return failRest(outcomes, events.length, error);
    }
  }
  return outcomes;
}

function nextSlices(events: readonly SandboxEvent[], from: number): readonly (readonly SandboxEvent[])[] {
  const slices: (readonly SandboxEvent[])[] = [];
  for (let at = from; at < events.length && slices.length < slicesAtOnce; at += slices.at(-1)?.length ?? 0) {
    slices.push(nextSlice(events, at));
  }
  return slices;
}

function nextSlice(events: readonly SandboxEvent[], from: number): readonly SandboxEvent[] {
  let to = from;
  let length = 0;
  while (to < events.length && to - from < sliceEventsMax && (to === from || length < sliceLengthMax)) {
    length += events[to]?.propertiesText.length ?? 0;
    to++;
  }
  return events.slice(from, to);
}

/**
 * Appends an outcome for each event of the slices while trying makes sense; slices after a lost one wait for the next call.
 * Returns the number of last consecutive failures.
 */
async function runSlices(
  slices: readonly (readonly SandboxEvent[])[],
  outcomes: EventOutcome[],
  poisonInRow: number,
  runner: EventRunner,
): Promise<number> {
  await runner.ensureOpen();
  const isFirst = outcomes.length === 0;
  const runs = await Promise.all(
    slices.map(async (slice, at) => {
      const found: (EventOutcome | undefined)[] = [];
      return { slice, found, end: await runner.run(slice, found, isFirst && at === 0) };
    }),
  );
  let inRow = poisonInRow;
  for (const { slice, found, end } of runs) {
    if (end.kind === 'lost') return await runOneByOne(slice, found, outcomes, inRow, runner);
    const missing = (): EventOutcome => failure(end.nonsense ?? noResult(runner.method));
    for (let index = 0; index < slice.length; index++) outcomes.push(found[index] ?? missing());
    inRow = end.poisonInRow;
  }
  return inRow;
}

/** Runs the events without an outcome one by one. */
async function runOneByOne(
  slice: readonly SandboxEvent[],
  found: readonly (EventOutcome | undefined)[],
  outcomes: EventOutcome[],
  poisonInRow: number,
  runner: EventRunner,
): Promise<number> {
  let inRow = poisonInRow;
  for (const [index, event] of slice.entries()) {
    const known = found[index];
    if (!known && inRow >= poisonInRowMax) return inRow;
    const { outcome, isPoison } = known ? { outcome: known, isPoison: false } : await runAlone(event, runner);
    outcomes.push(outcome);
    inRow = isPoison ? inRow + 1 : 0;
  }
  return inRow;
}

async function runAlone(
  event: SandboxEvent,
  runner: EventRunner,
): Promise<{ readonly outcome: EventOutcome; readonly isPoison: boolean }> {
  let ownCrashes = 0;
  for (let losses = 1; ; losses++) {
    const found: (EventOutcome | undefined)[] = [];
    await runner.ensureOpen();
    const end = await runner.run([event], found, true);
    const outcome = found[0];
    if (outcome) return { outcome, isPoison: end.kind === 'done' && end.poisonInRow > 0 };
    if (end.kind === 'done') return { outcome: failure(end.nonsense ?? noResult(runner.method)), isPoison: false };
    if (end.suspect) ownCrashes = end.cause === 'crashed' ? ownCrashes + 1 : ownCrashesMax;
    // Another config may have caused it.
    if (ownCrashes < ownCrashesMax && end.cause !== 'aborted' && losses < lossesMax) continue;
    return {
      outcome: failure(new SandboxError(end.cause, end.message, { method: runner.method })),
      isPoison: end.cause !== 'aborted',
    };
  }
}

function failRest(outcomes: EventOutcome[], count: number, error: SandboxError): readonly EventOutcome[] {
  while (outcomes.length < count) outcomes.push(failure(error));
  return outcomes;
}

function failure(error: SandboxError): EventOutcome {
  return { kind: 'failed', error };
}

function noResult(method: string): SandboxError {
  return new SandboxError('result', 'expected a result for every event, got none; the plugin damaged its environment', {
    method,
  });
}
