import { marksOf, placeOf, recipeOf, type Marks } from '../../stores/metadata/import-loads.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { StoredDay } from './import-day.ts';
import type { StoredPart } from './leased-run.ts';
import { readRunRows } from './run-rows.ts';
import type { SameRecords } from '../../wire/contract/import-results.ts';
import { inChunks } from './in-chunks.ts';
import { getRunSecrets } from './run-store.ts';
import type { Run, RunTotals } from './run.ts';

/** A run whose records are staged and whose days are computed. */
export interface CheckedRun {
  readonly run: Pick<Run, 'id' | 'projectId' | 'options'>;
  readonly parts: readonly StoredPart[];
  readonly days: readonly StoredDay[];
}

/** What a run needs to know about earlier runs. */
export interface EarlierRuns {
  readonly sameRecords: (checked: CheckedRun) => Promise<readonly SameRecords[]>;
  /** Returns which of these runs are undone by now, or removed with everything that they stored. */
  readonly undone: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Returns source and start of these runs, as far as known. */
  readonly known: (ids: readonly string[]) => Promise<readonly KnownRun[]>;
}

export interface KnownRun {
  readonly id: string;
  /** Slug of the import app. */
  readonly source: string;
  readonly created_at: string;
}

export function earlierRunsIn(db: Queries): EarlierRuns {
  return {
    sameRecords: (checked) => findSameRecords(db, checked),
    undone: (ids) => undoneRuns(db, ids),
    known: (ids) => knownRuns(db, ids),
  };
}

/**
 * Finds runs that loaded events of the same records to the same place but converted them differently, with another mapping or other
 * names: the store would keep both as different events. Undone runs do not count; removed runs do, because their events are stored.
 * Newest first.
 */
export async function findSameRecords(db: Queries, checked: CheckedRun): Promise<SameRecords[]> {
  const marks = marksOf(checked.parts);
  const shared = await sharedRecords(db, checked.run, marks);
  const found: SameRecords[] = [];
  for (const { id, created_at, loaded, isRemoved } of await loadedRuns(db, [...shared.keys()])) {
    // The days of a removed run are not stored: all its events may differ.
    const others = isRemoved ? [] : await readRunRows(db, id).days();
    found.push({
      run: id,
      created_at: new Date(created_at).toISOString(),
      records: shared.get(id) ?? 0,
      loaded,
      again: otherEvents(checked.days, others),
      ...(isRemoved && { removed: true }),
    });
  }
  return found.toSorted((a, b) => b.created_at.localeCompare(a.created_at) || b.run.localeCompare(a.run));
}

export async function knownRuns(db: Queries, ids: readonly string[]): Promise<readonly KnownRun[]> {
  const columns = ['source', 'created_at'] as const;
  const present = await inChunks(ids, (chunk) =>
    db.selectFrom('import_runs').select('id').select(columns).where('id', 'in', chunk).execute(),
  );
  const known = new Set(present.map(({ id }) => id));
  const removed = await inChunks(
    ids.filter((id) => !known.has(id)),
    (chunk) =>
      db.selectFrom('import_loads').select('run_id as id').select(columns).where('run_id', 'in', chunk).execute(),
  );
  return [...present, ...removed];
}

async function undoneRuns(db: Queries, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const present = await inChunks(ids, (chunk) =>
    db.selectFrom('import_runs').select('id').where('id', 'in', chunk).where('state', '!=', 'undone').execute(),
  );
  const removed = await inChunks(ids, (chunk) =>
    db
      .selectFrom('import_loads')
      .select('run_id as id')
      .where('run_id', 'in', chunk)
      .where('removed_at', 'is not', null)
      .execute(),
  );
  const stored = new Set([...present, ...removed].map(({ id }) => id));
  return new Set(ids.filter((id) => !stored.has(id)));
}

interface SharedMark {
  readonly mark: string;
  readonly run_id: string;
  readonly records: number;
}

/**
 * Counts shared records by run: those in segments that were staged identically, or otherwise in parts that the source says are the same.
 * Only runs with the same place and another recipe count.
 */
async function sharedRecords(
  db: Queries,
  { id, projectId, options }: CheckedRun['run'],
  marks: Marks,
): Promise<ReadonlyMap<string, number>> {
  const { apiKey } = await getRunSecrets(db, id);
  const [place, recipe] = [placeOf(options, apiKey), recipeOf(options)];
  const find = (own: readonly string[]): Promise<SharedMark[]> =>
    inChunks(own, (chunk) =>
      db
        .selectFrom('import_load_marks as mark')
        .innerJoin('import_loads as load', 'load.run_id', 'mark.run_id')
        .select(['mark.mark', 'mark.run_id', 'mark.records'])
        .where('mark.project_id', '=', projectId)
        .where('mark.mark', 'in', chunk)
        .where('mark.run_id', '!=', id)
        .where('load.place', '=', place)
        .where('load.recipe', '!=', recipe)
        .execute(),
    );
  const shared = new Map<string, number>();
  const add = ({ run_id: run }: SharedMark, records: number): unknown =>
    records > 0 && shared.set(run, (shared.get(run) ?? 0) + records);
  for (const each of await find([...marks.pieces.keys()])) add(each, marks.pieces.get(each.mark) ?? 0);
  const alike = new Set(shared.keys());
  for (const each of await find([...marks.parts.keys()])) {
    if (!alike.has(each.run_id)) add(each, Math.min(marks.parts.get(each.mark) ?? 0, Number(each.records)));
  }
  return shared;
}

interface LoadedRun {
  readonly id: string;
  readonly created_at: string;
  readonly loaded: number;
  readonly isRemoved: boolean;
}

/** Returns those of these runs of which events may be stored. */
async function loadedRuns(db: Queries, ids: readonly string[]): Promise<LoadedRun[]> {
  const rows = await inChunks(ids, (chunk) =>
    db
      .selectFrom('import_loads as load')
      .leftJoin('import_runs as run', 'run.id', 'load.run_id')
      .select(['load.run_id', 'load.created_at', 'load.loaded', 'run.state', 'run.totals'])
      .where('load.run_id', 'in', chunk)
      .execute(),
  );
  return rows.flatMap(({ run_id: id, created_at, loaded, state, totals }) => {
    const count = totals === null ? Number(loaded) : (JSON.parse(totals) as RunTotals).loaded;
    return state === 'undone' || count === 0 ? [] : [{ id, created_at, loaded: count, isRemoved: totals === null }];
  });
}

type Expected = Readonly<Record<string, { readonly count: number; readonly checksum: string }>>;

/** Counts events on days and names for which the other run has something else: ids, users or times differ. */
function otherEvents(own: readonly StoredDay[], others: readonly StoredDay[]): number {
  const known = new Map(others.map(({ day, expected }) => [day, expectedIn(expected)]));
  let count = 0;
  for (const { day, expected } of own) {
    const there = known.get(day) ?? {};
    for (const [name, cell] of Object.entries(expectedIn(expected))) {
      const other = Object.hasOwn(there, name) ? there[name] : undefined;
      if (other?.count !== cell.count || other.checksum !== cell.checksum) count += cell.count;
    }
  }
  return count;
}

/** Parses what the check wrote; empty until it is done. */
function expectedIn(expected: string): Expected {
  return expected === '' ? {} : (JSON.parse(expected) as Expected);
}
