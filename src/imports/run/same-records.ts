import { canonicalJson } from '../formats/canonical-json.ts';
import type { Queries } from '../../metadata/queries.ts';
import type { StoredDay } from './import-day.ts';
import type { StoredPart } from './leased-run.ts';
import { readRunRows } from './read-run-rows.ts';
import type { SameRecords } from './results.ts';
import { runColumns, toRun } from './run-rows.ts';
import { getRunSecrets } from './run-store.ts';
import type { Run, RunOptions } from './run.ts';

/** A run whose records are staged and whose days are made. */
export interface CheckedRun {
  readonly run: Pick<Run, 'id' | 'projectId' | 'options'>;
  readonly parts: readonly StoredPart[];
  readonly days: readonly StoredDay[];
}

/** What a run asks about those before it. */
export interface EarlierRuns {
  readonly sameRecords: (checked: CheckedRun) => Promise<readonly SameRecords[]>;
  /** Of these runs those that are undone by now, or gone. */
  readonly undone: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** Where and when these runs began, as far as they are known. */
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

/** Older runs of a project are not looked at. */
const runsMax = 200;

/**
 * Runs that loaded events of the same records to the same place, and made them of the records in another way: another mapping,
 * other names. What the source calls the same record is then another event to the store. Runs that were undone are none. Newest first.
 */
export async function findSameRecords(db: Queries, checked: CheckedRun): Promise<SameRecords[]> {
  const found: SameRecords[] = [];
  for (const other of await otherRecipes(db, checked.run)) {
    const { parts, days } = readRunRows(db, other.id);
    const records = sharedRecords(checked.parts, await parts());
    if (records === 0) continue;
    found.push({
      run: other.id,
      created_at: new Date(other.createdAt).toISOString(),
      records,
      loaded: other.totals.loaded,
      again: otherEvents(checked.days, await days()),
    });
  }
  return found;
}

export async function knownRuns(db: Queries, ids: readonly string[]): Promise<readonly KnownRun[]> {
  if (ids.length === 0) return [];
  return db.selectFrom('import_runs').select(['id', 'source', 'created_at']).where('id', 'in', ids).execute();
}

async function undoneRuns(db: Queries, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db.selectFrom('import_runs').select(['id', 'state']).where('id', 'in', ids).execute();
  const there = new Set(rows.filter(({ state }) => state !== 'undone').map(({ id }) => id));
  return new Set(ids.filter((id) => !there.has(id)));
}

async function otherRecipes(db: Queries, { id, projectId, options }: CheckedRun['run']): Promise<Run[]> {
  const rows = await db
    .selectFrom('import_runs')
    .select(runColumns)
    .where('project_id', '=', projectId)
    .where('id', '!=', id)
    .where('state', '!=', 'undone')
    .orderBy('created_at', 'desc')
    .limit(runsMax)
    .execute();
  const [target, recipe] = [canonicalJson(options.target), recipeOf(options)];
  const runs = rows.map(toRun).filter((run) => {
    const isSamePlace = run.totals.loaded > 0 && canonicalJson(run.options.target) === target;
    return isSamePlace && recipeOf(run.options) !== recipe;
  });
  const { apiKey } = runs.length === 0 ? {} : await getRunSecrets(db, id);
  const keys = await Promise.all(runs.map((run) => getRunSecrets(db, run.id)));
  return runs.filter((_, index) => keys[index]?.['apiKey'] === apiKey);
}

/** What decides which event a record becomes. Which records are taken does not belong to it. */
function recipeOf({ format, formatOptions, names, choice = {}, transform }: RunOptions): string {
  const { time: _, events: __, sample: ___, ...changes } = choice;
  return canonicalJson({ format, formatOptions, names, changes, transform: transform?.hash });
}

/** Records in pieces that were staged alike; where none is, in parts that the source says are the same. */
function sharedRecords(own: readonly StoredPart[], others: readonly StoredPart[]): number {
  const staged = new Set(others.flatMap(({ segments }) => segments.map(({ sha256 }) => sha256)));
  const pieces = own.flatMap(({ segments }) => segments.filter(({ sha256 }) => staged.has(sha256)));
  if (pieces.length > 0) return pieces.reduce((sum, { records }) => sum + records, 0);
  const known = new Map(others.map((part) => [`${part.key}\n${part.identity ?? ''}`, recordsOf(part)]));
  const same = own.filter(({ identity }) => identity !== undefined);
  return same.reduce(
    (sum, part) => sum + Math.min(recordsOf(part), known.get(`${part.key}\n${part.identity ?? ''}`) ?? 0),
    0,
  );
}

function recordsOf({ segments }: StoredPart): number {
  return segments.reduce((sum, { records }) => sum + records, 0);
}

type Expected = Readonly<Record<string, { readonly count: number; readonly checksum: string }>>;

/** Events of days and names of which the other run has something else: ids, users or times differ. */
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

/** What the check wrote; empty before it is done. */
function expectedIn(expected: string): Expected {
  return expected === '' ? {} : (JSON.parse(expected) as Expected);
}
