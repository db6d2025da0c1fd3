import type { StoredDay, StoredPart } from '../held-run.ts';
import type { VerifyResult } from '../results.ts';
import type { BalanceLine, ReportTotals } from './report.ts';

interface Balanced {
  readonly totals: ReportTotals;
  /** Events refused by the check. */
  readonly refusedByCheck: number;
  readonly parts: readonly StoredPart[];
  readonly days: readonly StoredDay[];
  readonly isChecked: boolean;
  /** Whether all days have been loaded. */
  readonly isLoaded: boolean;
  readonly verify: VerifyResult | undefined;
}

/** The sums that must agree, as far as the run has come. The sides of each were counted in different places. */
export function balance(of: Balanced): BalanceLine[] {
  return [...(of.isChecked ? checkLines(of) : []), ...(of.isChecked && of.isLoaded ? loadLines(of) : [])];
}

function checkLines({ totals, refusedByCheck, parts, days }: Balanced): BalanceLine[] {
  const { records, events } = totals;
  const staged = sum(parts, recordsOf) + sum(parts, ({ faults }) => faults);
  const prepared = sum(days, (day) => day.events + day.duplicates);
  const accounted = records.converted + records.skipped + records.rejected;
  return [
    line('Records of the source = records that the check has read', staged, records.read),
    line('Records read = converted + skipped + rejected', records.read, accounted),
    line('Events converted = to load + duplicates + refused by the check', events.converted, prepared + refusedByCheck),
  ];
}

function loadLines({ totals: { events }, days, verify }: Balanced): BalanceLine[] {
  const toLoad = sum(days, (day) => day.events);
  const answered = sum(days, (day) => day.accepted + day.rejected);
  const accounted = events.loaded + events.duplicates + events.rejected;
  const lines = [
    line('Events to load = loaded + refused by the target', toLoad, answered),
    line('Events converted = loaded + duplicates + rejected', events.converted, accounted),
    line('Events loaded, by day = by name', events.loaded, sum(days, namedCount)),
  ];
  if (verify === undefined || verify.verdict === 'unreadable') return lines;
  return [...lines, line('Events loaded = found in the store', events.loaded, verify.found)];
}

function line(name: string, left: number, right: number): BalanceLine {
  return { name, left, right, holds: left === right };
}

function namedCount(day: StoredDay): number {
  return sum(expectedCounts(day).values(), (count) => count);
}

/** What the target acknowledged of a day, by event name. */
export function expectedCounts({ expected }: Pick<StoredDay, 'expected'>): ReadonlyMap<string, number> {
  if (expected === '') return new Map();
  const byName = JSON.parse(expected) as Readonly<Record<string, { readonly count: number }>>;
  return new Map(Object.entries(byName).map(([name, { count }]) => [name, count]));
}

export function recordsOf({ segments }: Pick<StoredPart, 'segments'>): number {
  return sum(segments, ({ records }) => records);
}

export function sum<Item>(items: Iterable<Item>, valueOf: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += valueOf(item);
  return total;
}
