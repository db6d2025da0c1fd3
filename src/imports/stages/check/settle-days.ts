import type { Failpoint } from '../../../base/failpoint.ts';
import {
  runTableChanged,
  runTableCounts,
  runTableDays,
  runTableRepeated,
  type RunDay,
} from '../../../stores/events/run-table-reads.ts';
import type { ImportedCount } from '../../../stores/events/import-reads.ts';
import { contentText, xorChecksums } from '../../checksum.ts';
import { frameEvents, type StoredDay } from '../../run/import-day.ts';
import { RunFailedError, type LeasedRun } from '../../run/leased-run.ts';
import type { RunRows } from './rows/run-rows.ts';
import type { DaySum } from './rows/segment-rows.ts';

/** Maximum rows of one query; only a single day may have more. */
const rowsPerQuery = 500_000;
/** Events whose days are compared with each other; of more events a sample is compared. */
const comparedMax = 2_000_000;

export interface SettleDeps {
  readonly rows: RunRows;
  readonly failpoint: Failpoint;
  /** Called whenever days have been stored. */
  readonly onDays: () => void;
}

/** What the check has written. */
export interface WrittenRows {
  readonly sums: readonly DaySum[];
  /** Events that the target has on another day, by the day they would have here. */
  readonly elsewhere: ReadonlyMap<string, number>;
}

/** Events with equal uuids. */
interface Repetitions {
  /** Events that also exist on another day. */
  readonly repeated: number;
  /** Duplicates whose properties or time differ from those of the loaded event. */
  readonly changed: number;
}

/** Compares the table of the run with what was written and stores its days, oldest first. */
export async function settleDays(deps: SettleDeps, leased: LeasedRun, written: WrittenRows): Promise<Repetitions> {
  const { rows, failpoint, onDays } = deps;
  const { store, run, whenAnswering } = rows;
  await whenAnswering(() => store.waitForReplicas(run));
  const found = await whenAnswering(() => runTableDays(store, run));
  const expected = mergeSums(written.sums);
  const total = found.reduce((all, day) => all + day.rows, 0);
  let changed = 0;
  const days = withAll(found, [...expected.keys(), ...written.elsewhere.keys()]);
  for (const some of inGroups(days)) {
    leased.signal.throwIfAborted();
    const counts = await readCounts(rows, some);
    for (const day of some) {
      assertWritten(day.day, expected.get(day.day), counts.rows.get(day.day));
      const stored = storedDay(day, counts.events.get(day.day) ?? [], written.elsewhere.get(day.day) ?? 0);
      if (stored.events < day.rows) changed += await whenAnswering(() => runTableChanged(store, run, day.day));
      await leased.saveDay(day.day, stored);
    }
    failpoint('import_days_settled');
    onDays();
  }
  const share = 2 ** Math.max(0, Math.ceil(Math.log2(total / comparedMax)));
  return { repeated: await whenAnswering(() => runTableRepeated(store, run, share)), changed };
}

type Cells = ReadonlyMap<string, readonly ImportedCount[]>;

async function readCounts(
  { store, run, whenAnswering }: RunRows,
  some: readonly RunDay[],
): Promise<{ readonly rows: Cells; readonly events: Cells }> {
  const days = { from: some[0]?.day ?? '', to: some.at(-1)?.day ?? '' };
  const read = async (of: 'rows' | 'events'): Promise<Cells> => {
    const counts = await whenAnswering(() => runTableCounts(store, run, days, { of, contents: 'crc32' }));
    return Map.groupBy(counts, ({ day }) => day);
  };
  const events = await read('events');
  // Without duplicates both are equal.
  const hasDuplicates = some.some(({ day, rows }) => rows !== countOf(events.get(day)));
  return { rows: hasDuplicates ? await read('rows') : events, events };
}

function countOf(counts: Iterable<{ readonly count: number }> = []): number {
  let sum = 0;
  for (const { count } of counts) sum += count;
  return sum;
}

/** Adds the days without rows; oldest first. */
function withAll(found: readonly RunDay[], days: readonly string[]): readonly RunDay[] {
  const known = new Set(found.map(({ day }) => day));
  const others = [...new Set(days)].filter((day) => !known.has(day)).map((day) => ({ day, rows: 0, bytes: 0 }));
  return [...found, ...others].toSorted((a, b) => (a.day < b.day ? -1 : 1));
}

function* inGroups(days: readonly RunDay[]): Generator<readonly RunDay[]> {
  let group: RunDay[] = [];
  let rows = 0;
  for (const day of days) {
    if (group.length > 0 && rows + day.rows > rowsPerQuery) {
      yield group;
      group = [];
      rows = 0;
    }
    group.push(day);
    rows += day.rows;
  }
  if (group.length > 0) yield group;
}

function storedDay(
  { rows, bytes }: RunDay,
  counts: readonly ImportedCount[],
  elsewhere: number,
): Omit<StoredDay, 'day'> {
  const events = countOf(counts);
  const expected = counts.map(({ event, count, checksum, content }) => {
    return [event, { count, checksum, content: contentText('crc32', content) }] as const;
  });
  return {
    events,
    bytes: rows === 0 ? 0 : Math.round((bytes * events) / rows),
    duplicates: rows - events + elsewhere,
    frames: Math.ceil(events / frameEvents),
    framesLoaded: 0,
    accepted: 0,
    rejected: 0,
    verified: false,
    expected: JSON.stringify(Object.fromEntries(expected)),
  };
}

type Sums = ReadonlyMap<string, Pick<DaySum, 'count' | 'checksum' | 'content'>>;

/** Adds sums up by day and name. */
function mergeSums(sums: readonly DaySum[]): ReadonlyMap<string, Sums> {
  const byDay = new Map<string, Map<string, Pick<DaySum, 'count' | 'checksum' | 'content'>>>();
  for (const { day, event, count, checksum, content } of sums) {
    const names = byDay.get(day) ?? new Map<string, Pick<DaySum, 'count' | 'checksum' | 'content'>>();
    byDay.set(day, names);
    const known = names.get(event);
    names.set(event, {
      count: count + (known?.count ?? 0),
      checksum: known === undefined ? checksum : xorChecksums(known.checksum, checksum),
      content: known === undefined ? content : xorChecksums(known.content, content),
    });
  }
  return byDay;
}

/** Throws RunFailedError if the store has other rows than were inserted. */
function assertWritten(day: string, written: Sums = new Map(), found: readonly ImportedCount[] = []): void {
  const isSame =
    found.length === written.size &&
    found.every(({ event, count, checksum, content }) => {
      const own = written.get(event);
      return own?.count === count && own.checksum === checksum && own.content === contentText('crc32', content);
    });
  if (isSame) return;
  throw new RunFailedError(
    `expected the ${countOf(written.values())} events of ${day} in the table of the run as written, got ${countOf(found)} rows or ` +
      'different ones',
    { advice: 'startAgain' },
  );
}
