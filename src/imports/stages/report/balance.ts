import { recordsIn, type StoredPart } from '../../run/leased-run.ts';
import { isLoaded, type StoredDay } from '../../run/import-day.ts';
import type { VerifyResult } from '../../run/results.ts';
import type { BalanceLine, ReplacedRun, ReportTotals } from './report.ts';

interface Balanced {
  readonly totals: ReportTotals;
  /** Events rejected by the check. */
  readonly refusedByCheck: number;
  /** Records in files that were not staged. */
  readonly foreign: number;
  readonly parts: readonly StoredPart[];
  readonly days: readonly StoredDay[];
  readonly refused: RefusedCounts;
  readonly isChecked: boolean;
  /** Whether all days are loaded. */
  readonly isLoaded: boolean;
  readonly verify: VerifyResult | undefined;
  readonly replaced: readonly ReplacedRun[];
}

/** Returns the sums that must agree, for the stages that the run has done. The sides of each were counted in different places. */
export function balance(of: Balanced): BalanceLine[] {
  return [...(of.isChecked ? checkLines(of) : []), ...(of.isChecked && of.isLoaded ? loadLines(of) : [])];
}

function checkLines({ totals, refusedByCheck, foreign, parts, days }: Balanced): BalanceLine[] {
  const { records, events } = totals;
  const staged = sum(parts, recordsOf) + sum(parts, ({ faults }) => faults) + foreign;
  const prepared = sum(days, (day) => day.events + day.duplicates);
  const accounted = records.converted + records.skipped + records.rejected;
  return [
    line('Records of the source = records that the check read', staged, records.read),
    line('Records read = converted + skipped + rejected', records.read, accounted),
    ...(events.read === events.converted && events.left_out === 0
      ? []
      : [
          line(
            'Events of the records = converted + excluded by choice',
            events.read,
            events.converted + events.left_out,
          ),
        ]),
    line(
      'Events converted = to load + duplicates + rejected by the check',
      events.converted,
      prepared + refusedByCheck,
    ),
  ];
}

function loadLines({ totals: { events }, days, refused, verify, replaced }: Balanced): BalanceLine[] {
  const toLoad = sum(days, (day) => day.events);
  const answered = sum(days, (day) => day.accepted + day.rejected);
  const accounted = events.loaded + events.duplicates + events.rejected;
  const lines = [
    line('Events to load = loaded + rejected by the target', toLoad, answered),
    line('Events converted = loaded + duplicates + rejected', events.converted, accounted),
    line(
      'Events loaded, by day = by name',
      events.loaded,
      sum(days, (day) => sum(loadedCounts(day, refused).values(), (count) => count)),
    ),
    ...replaced.map(({ run, undo }) => line(`Rows left of run ${run}, which it replaces = 0`, undo?.rows_left ?? 0, 0)),
  ];
  if (verify === undefined || verify.verdict === 'unreadable') return lines;
  const { found, expired = 0 } = verify;
  const name = expired === 0 ? 'Events loaded = found in the store' : 'Events loaded = found in the store + expired';
  return [...lines, line(name, events.loaded, found + expired)];
}

function line(name: string, left: number, right: number): BalanceLine {
  return { name, left, right, holds: left === right };
}

/** Events that the target rejected, counted by day and name from the files of rejected records. */
export type RefusedCounts = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Counts loaded events of a day by name. Empty until the day is completely loaded: until then only its sum is known. */
export function loadedCounts(day: StoredDay, refused: RefusedCounts): ReadonlyMap<string, number> {
  if (day.expected === '' || !isLoaded(day)) return new Map();
  // The check wrote it: all events to load.
  const byName = JSON.parse(day.expected) as Readonly<Record<string, { readonly count: number }>>;
  const without = refused.get(day.day);
  return new Map(Object.entries(byName).map(([name, { count }]) => [name, count - (without?.get(name) ?? 0)]));
}

export function recordsOf({ segments }: Pick<StoredPart, 'segments'>): number {
  return recordsIn(segments);
}

export function sum<Item>(items: Iterable<Item>, valueOf: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += valueOf(item);
  return total;
}
