import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { Chosen, RecordReader, RecordResult, RecordTimes } from '../formats/format.ts';
import { createReaderMemory, noMemory, type ReaderMemory } from '../formats/reader-memory.ts';
import { createJudge, type Judge, type Judged } from './judge-events.ts';
import type { JoinTable } from './join-table.ts';
import { oddValueRules } from './odd-value-rules.ts';
import { createRejection, timeRepair } from './reject-odd.ts';

export interface ChosenReaderOptions {
  /** Those of the choice's joins, in their order. */
  readonly tables?: readonly JoinTable[];
  /** Of the format. */
  readonly times?: RecordTimes | undefined;
  /** Times after this lie in the future; ms since the epoch. */
  readonly now: number;
  /** Of the reader; default: one of its own. */
  readonly memory?: ReaderMemory;
}

/**
 * The reader of a format with a choice applied; without one it is the format's own. Throws FormatOptionsError for a rule that the
 * format's records have nothing for.
 */
export function createChosenReader(
  create: (memory: ReaderMemory) => RecordReader,
  choice: ImportChoice | undefined,
  { tables = [], times, now, memory = createReaderMemory() }: ChosenReaderOptions,
): RecordReader {
  const own = create(memory);
  if (choice === undefined) return own;
  const repair = timeRepair(choice, times, now);
  const judge = createJudge(choice, { tables, now });
  const chosen = judge === undefined ? own : withJudge(own, create, judge, { choice, now, memory });
  if (repair === undefined) return chosen;
  return (given) => {
    const repaired = repair(given);
    if (repaired === undefined) return chosen(given);
    const result = chosen(repaired.record);
    return withOdd(result, [...(result.odd ?? []), { of: 'odd_times', value: repaired.was }]);
  };
}

/**
 * The reader that makes the events sees only records of which something is taken: it says once that a device belongs to a user,
 * and has to say it at an event that is there. A second one, which remembers nothing, says of each record what that says itself, so
 * that what is taken does not depend on the records before.
 */
function withJudge(
  read: RecordReader,
  create: (memory: ReaderMemory) => RecordReader,
  judge: Judge,
  {
    choice,
    now,
    memory,
  }: Pick<ChosenReaderOptions, 'now'> & {
    readonly choice: ImportChoice;
    readonly memory: ReaderMemory;
  },
): RecordReader {
  const look = judge.leavesOut ? create(noMemory) : undefined;
  const rejection = createRejection(oddValueRules(choice, now));
  const take = (result: RecordResult, said: readonly WireEvent[]): RecordResult => {
    if (result.kind !== 'events' || result.events.length === 0) return result;
    const { events, leftOut } = judge.take(result.events, said);
    const counted = leftOut.filter(({ event, reason }) => isCounted(event, reason));
    return { ...result, events, chosen: chosenOf(events, counted) };
  };
  // A link beside other events is left out in every piece of the run in which it is made, and counts once.
  const isCounted = ({ uuid }: WireEvent, reason: string): boolean =>
    !memory.links.has(uuid) || memory.leaveOut(uuid, reason);
  if (look === undefined) return (record) => take(read(record), []);
  return (record) => {
    const seen = look(record);
    if (seen.kind !== 'events' || seen.events.length === 0) return seen;
    const rejected = rejection?.(seen.events);
    if (rejected !== undefined) return rejected;
    const { events, leftOut, odd } = judge.look(seen.events);
    const result = events.length > 0 ? take(read(record), seen.events) : nothingOf(leftOut, seen);
    return odd.length === 0 ? result : withOdd(result, odd);
  };
}

/** A record of which nothing stays is left out for the reason of its first event. */
function nothingOf(leftOut: Judged['leftOut'], { notes }: RecordResult): RecordResult {
  const chosen = chosenOf([], leftOut);
  return { kind: 'skipped', reason: leftOut[0]?.reason ?? '', chosen, ...(notes && { notes }) };
}

function chosenOf({ length }: Judged['events'], leftOut: Judged['leftOut']): Chosen {
  return { read: length + leftOut.length, leftOut: leftOut.map(({ reason }) => reason) };
}

function withOdd(result: RecordResult, odd: NonNullable<RecordResult['odd']>): RecordResult {
  return { ...result, odd };
}
