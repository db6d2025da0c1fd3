import type { StoredDay } from '../../run/import-day.ts';
import type { CheckResult, VerifyResult } from '../../run/results.ts';
import { loadedCounts, type RefusedCounts } from './balance.ts';
import type { DayLine, EventLine, ReportCell, ReportCells } from './report.ts';

/** Number of names with their own line. */
const namesMax = 50;

interface Cell {
  toLoad: number;
  loaded: number;
  /** Meaningless if the store was not read. */
  found: number;
  expired: number;
}

const noEvents: Readonly<Cell> = { toLoad: 0, loaded: 0, found: 0, expired: 0 };

interface EventMatrix {
  readonly days: readonly DayLine[];
  readonly events: readonly EventLine[];
  readonly cells: ReportCells;
}

interface Found {
  readonly check: CheckResult | undefined;
  readonly verify: VerifyResult | undefined;
  readonly refused: RefusedCounts;
}

/** Returns counts by day and event: to load, loaded and stored. The most frequent names are separate, the others are summed up. */
export function eventMatrix(days: readonly StoredDay[], { check, verify, refused }: Found): EventMatrix {
  const isRead = verify !== undefined && verify.verdict !== 'unreadable';
  const byDay = cellsByDay(days, { check, verify: isRead ? verify : undefined, refused });
  const totals = totalsByName(byDay);
  const names = [...totals].sort((a, b) => b[1].toLoad - a[1].toLoad || (a[0] < b[0] ? -1 : 1)).map(([name]) => name);
  const own = names.slice(0, namesMax);
  const stored = new Map(days.map((day) => [day.day, day]));
  const rows = [...byDay].sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    days: rows.map(([day, cells]) => dayLine(day, cells, stored.get(day), isRead)),
    events: eventLines(own, names.slice(namesMax), totals, isRead),
    cells: {
      events: own,
      rows: rows.map(([day, cells]) => ({ day, counts: rowOf(cells, own, isRead) })),
    },
  };
}

function cellsByDay(days: readonly StoredDay[], { check, verify, refused }: Found): Map<string, Map<string, Cell>> {
  const byDay = new Map<string, Map<string, Cell>>();
  const cellOf = (day: string, event: string): Cell => {
    const cells = byDay.get(day) ?? new Map<string, Cell>();
    byDay.set(day, cells);
    const cell = cells.get(event) ?? { ...noEvents };
    cells.set(event, cell);
    return cell;
  };
  for (const [day, counts] of Object.entries(check?.days ?? {})) {
    for (const [event, count] of Object.entries(counts)) cellOf(day, event).toLoad = count;
  }
  for (const day of days) {
    for (const [event, count] of loadedCounts(day, refused)) {
      const cell = cellOf(day.day, event);
      cell.loaded = count;
      cell.found = count;
    }
  }
  // Only differences are listed; everything else was found as loaded.
  for (const { day, event, found, expired = 0 } of verify?.cells ?? []) {
    Object.assign(cellOf(day, event), { found, expired });
  }
  return byDay;
}

function totalsByName(byDay: ReadonlyMap<string, ReadonlyMap<string, Cell>>): Map<string, Cell> {
  const totals = new Map<string, Cell>();
  for (const cells of byDay.values()) {
    for (const [name, cell] of cells) {
      const total = totals.get(name) ?? { ...noEvents };
      totals.set(name, total);
      add(total, cell);
    }
  }
  return totals;
}

function add(total: Cell, cell: Cell): void {
  total.toLoad += cell.toLoad;
  total.loaded += cell.loaded;
  total.found += cell.found;
  total.expired += cell.expired;
}

function summed(cells: Iterable<Cell>): Cell {
  const total = { ...noEvents };
  for (const cell of cells) add(total, cell);
  return total;
}

function dayLine(
  day: string,
  cells: ReadonlyMap<string, Cell>,
  stored: StoredDay | undefined,
  isRead: boolean,
): DayLine {
  const total = summed(cells.values());
  return {
    day,
    to_load: stored?.events ?? total.toLoad,
    duplicates: stored?.duplicates ?? 0,
    loaded: stored?.accepted ?? 0,
    rejected: stored?.rejected ?? 0,
    verified: isRead ? total.found : null,
    ...expiredOf(total),
  };
}

function expiredOf({ expired }: Cell): Pick<DayLine, 'expired'> {
  return expired === 0 ? {} : { expired };
}

function eventLines(
  own: readonly string[],
  others: readonly string[],
  totals: ReadonlyMap<string, Cell>,
  isRead: boolean,
): EventLine[] {
  const lineOf = (event: string, names: number, cell: Cell): EventLine => ({
    event,
    names,
    to_load: cell.toLoad,
    loaded: cell.loaded,
    rejected: Math.max(0, cell.loaded === 0 ? 0 : cell.toLoad - cell.loaded),
    verified: isRead ? cell.found : null,
    ...expiredOf(cell),
  });
  const cellsOf = (names: readonly string[]): Cell[] => names.flatMap((name) => totals.get(name) ?? []);
  const lines = own.map((name) => lineOf(name, 1, summed(cellsOf([name]))));
  return others.length === 0 ? lines : [...lines, lineOf('', others.length, summed(cellsOf(others)))];
}

function rowOf(cells: ReadonlyMap<string, Cell>, own: readonly string[], isRead: boolean): ReportCell[] {
  const known = new Set(own);
  const rest = summed([...cells].filter(([name]) => !known.has(name)).map(([, cell]) => cell));
  return [...own.map((name) => cells.get(name)), rest].map((cell): ReportCell => {
    if (cell === undefined) return 0;
    const { toLoad, loaded, found, expired } = cell;
    if (toLoad === loaded && (!isRead || found === toLoad)) return toLoad;
    return expired === 0 ? [toLoad, loaded, isRead ? found : null] : [toLoad, loaded, found, expired];
  });
}
