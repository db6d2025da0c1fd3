/**
 * Remembers import runs that have loaded events, for any number of runs and after a run is removed: the target, the recipe that turned
 * records into events, the days, and marks by which its records are recognised.
 */
import { hash } from 'node:crypto';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Queries } from './queries.ts';

const rowsPerInsert = 500;

/** A part of the source as its run staged it. */
export interface MarkedPart {
  readonly key: string;
  /** Undefined: the source cannot tell whether it is unchanged. */
  readonly identity: string | undefined;
  readonly segments: readonly { readonly records: number; readonly continued?: number; readonly sha256: string }[];
}

/** Records by mark: of staged segments, and of parts by their key in the source. */
export interface Marks {
  readonly pieces: ReadonlyMap<string, number>;
  readonly parts: ReadonlyMap<string, number>;
}

export function marksOf(parts: readonly MarkedPart[]): Marks {
  const pieces = new Map<string, number>();
  const sources = new Map<string, number>();
  for (const { key, identity, segments } of parts) {
    for (const { sha256, records, continued = 0 } of segments) {
      const mark = `piece ${sha256}`;
      pieces.set(mark, (pieces.get(mark) ?? 0) + records - continued);
    }
    if (identity === undefined) continue;
    const records = segments.reduce((sum, { records, continued = 0 }) => sum + records - continued, 0);
    sources.set(`part ${hash('sha256', `${key}\n${identity}`)}`, records);
  }
  return { pieces, parts: sources };
}

/** Hashes the target of a run and its key, which cannot be recovered from the hash. */
export function placeOf({ target }: { readonly target: object }, apiKey: string | undefined): string {
  return hash('sha256', canonicalJson({ target, apiKey }));
}

/** Hashes everything that decides which event a record becomes, but not which records are selected. */
export function recipeOf(options: {
  readonly format: string;
  readonly formatOptions: object;
  readonly names?: object | undefined;
  readonly choice?: object | undefined;
  readonly transform?: { readonly hash: string } | undefined;
}): string {
  const { format, formatOptions, names, choice = {}, transform } = options;
  const { time: _, events: __, sample: ___, ...changes } = choice as JsonObject;
  return hash('sha256', canonicalJson({ format, formatOptions, names, changes, transform: transform?.hash }));
}

/** Records that a run is about to load, each time it does so. A run without events leaves no record. */
export async function rememberLoad(tx: Queries, runId: string): Promise<void> {
  const [run, days] = await Promise.all([runOf(tx, runId), daysOf(tx, runId)]);
  if (run === undefined || days.first === null || days.last === null) return;
  const options = JSON.parse(run.options) as Parameters<typeof recipeOf>[0] & { readonly target: { kind: string } };
  const secrets = JSON.parse(run.secrets) as { readonly apiKey?: string };
  const { duplicates = 0 } = JSON.parse(run.totals) as { readonly duplicates?: number };
  const { project_id, config_id, source, created_at } = run;
  const row = {
    project_id,
    config_id,
    source,
    created_at,
    duplicates,
    target: options.target.kind,
    place: placeOf(options, secrets.apiKey),
    recipe: recipeOf(options),
    first_day: days.first,
    last_day: days.last,
  };
  await tx
    .insertInto('import_loads')
    .values({ run_id: runId, ...row, loaded: null, removed_at: null })
    .onConflict((conflict) => conflict.column('run_id').doUpdateSet(row))
    .execute();
  await saveMarks(tx, { runId, projectId: project_id });
}

/** Does the same for a run of the command line, which stages its records elsewhere and leaves no marks here. */
export async function rememberReportedLoad(
  tx: Queries,
  runId: string,
  days: { readonly first: string; readonly last: string },
): Promise<void> {
  const run = await runOf(tx, runId);
  if (run === undefined) return;
  const { project_id, config_id, source, created_at } = run;
  const row = { project_id, config_id, source, created_at, first_day: days.first, last_day: days.last };
  const none = { duplicates: 0, target: 'project', place: '', recipe: '', loaded: null, removed_at: null } as const;
  await tx
    .insertInto('import_loads')
    .values({ run_id: runId, ...row, ...none })
    .onConflict((conflict) => conflict.column('run_id').doUpdateSet(row))
    .execute();
}

function runOf(tx: Queries, runId: string) {
  return tx
    .selectFrom('import_runs')
    .select(['project_id', 'config_id', 'source', 'options', 'secrets', 'totals', 'created_at'])
    .where('id', '=', runId)
    .executeTakeFirst();
}

async function daysOf(tx: Queries, runId: string) {
  return tx
    .selectFrom('import_days')
    .select((eb) => [eb.fn.min<string | null>('day').as('first'), eb.fn.max<string | null>('day').as('last')])
    .where('run_id', '=', runId)
    .executeTakeFirstOrThrow();
}

async function saveMarks(
  tx: Queries,
  { runId: run_id, projectId: project_id }: { readonly runId: string; readonly projectId: number },
): Promise<void> {
  const parts = await tx
    .selectFrom('import_parts')
    .select(['key', 'identity', 'segments'])
    .where('run_id', '=', run_id)
    .execute();
  const marks = marksOf(
    parts.map(({ key, identity, segments }) => ({
      key,
      identity: identity ?? undefined,
      segments: JSON.parse(segments) as MarkedPart['segments'],
    })),
  );
  const rows = [...marks.pieces, ...marks.parts].map(([mark, records]) => ({ project_id, mark, run_id, records }));
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    await tx
      .insertInto('import_load_marks')
      .values(rows.slice(at, at + rowsPerInsert))
      .onConflict((conflict) => conflict.columns(['project_id', 'mark', 'run_id']).doNothing())
      .execute();
  }
}

/** A removed run whose loaded events are still stored. */
export interface RemovedRun {
  readonly id: string;
  readonly configId: number;
  /** ISO 8601. */
  readonly removedAt: string;
}

/** Returns undefined if the run exists, never belonged to this project, or had loaded nothing. */
export async function findRemovedRun(
  db: Queries,
  id: string,
  of: { readonly projectId: number },
): Promise<RemovedRun | undefined> {
  const row = await db
    .selectFrom('import_loads')
    .select(['run_id', 'config_id', 'removed_at'])
    .where('run_id', '=', id)
    .where('project_id', '=', of.projectId)
    .executeTakeFirst();
  if (row === undefined || row.removed_at === null) return undefined;
  return { id: row.run_id, configId: row.config_id, removedAt: row.removed_at };
}

/** Returns, by id, the creation time (µs since the epoch) of each run of the project that may have loaded events. */
export async function loadsOf(db: Queries, projectId: number): Promise<Readonly<Record<string, number>>> {
  const rows = await db
    .selectFrom('import_loads')
    .select(['run_id', 'created_at'])
    .where('project_id', '=', projectId)
    .execute();
  return Object.fromEntries(rows.map(({ run_id: id, created_at: at }) => [id, Date.parse(at) * 1000]));
}

/** Records that the run is removed while its events stay. */
export async function rememberRemoval(
  tx: Queries,
  runId: string,
  { loaded, removedAt: removed_at }: { readonly loaded: number; readonly removedAt: string },
): Promise<void> {
  await tx.updateTable('import_loads').set({ loaded, removed_at }).where('run_id', '=', runId).execute();
}

/** Removes the record of a run whose events are not stored any more. */
export async function forgetLoad(tx: Queries, runId: string): Promise<void> {
  await tx.deleteFrom('import_load_marks').where('run_id', '=', runId).execute();
  await tx.deleteFrom('import_loads').where('run_id', '=', runId).execute();
}
