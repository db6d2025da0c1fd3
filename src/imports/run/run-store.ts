import type { Insertable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import type { Database } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { runColumns, toRun } from './run-rows.ts';
import { noTotals, type Run, type RunOptions, type RunState } from './run.ts';

export interface NewRun {
  /** Default: a new one. Letters, digits and `-`. */
  readonly id?: string;
  /** 0: no project (the command line). */
  readonly projectId: number;
  /** 0: no config (the command line). */
  readonly configId: number;
  /** Slug of the import app. */
  readonly source: string;
  readonly options: RunOptions;
  /** By name, e.g. `apiKey`, `personalApiKey` of the target: kept with the run, never shown. */
  readonly secrets?: Readonly<Record<string, string>>;
  /** Id of the trial that this is the full form of. */
  readonly promotedFrom?: string;
  /** ms since the epoch. */
  readonly now: number;
}

/** In the caller's transaction: the run exists, queued, if and only if what asked for it does. */
export async function createRun(tx: Queries, run: NewRun): Promise<Run> {
  const row = {
    id: run.id ?? newId(),
    project_id: run.projectId,
    config_id: run.configId,
    source: run.source,
    state: 'queued',
    stage: 'export',
    reason: '',
    waiting: null,
    options: JSON.stringify(run.options),
    secrets: JSON.stringify(run.secrets ?? {}),
    progress: '{}',
    totals: JSON.stringify(noTotals),
    promoted_from: run.promotedFrom ?? null,
    attempts: 0,
    retries: 0,
    lease_until: null,
    staging_removed_at: null,
    created_at: isoMicros(run.now),
    started_at: null,
    finished_at: null,
    kept: run.options.scheduled === true ? 'long' : '',
    deaths: null,
  } satisfies Insertable<Database['import_runs']>;
  await tx.insertInto('import_runs').values(row).execute();
  return toRun(row);
}

/** Undefined: there is none, or it is not of this project. */
export async function getRun(db: Queries, id: string, of?: { readonly projectId: number }): Promise<Run | undefined> {
  let query = db.selectFrom('import_runs').select(runColumns).where('id', '=', id);
  if (of !== undefined) query = query.where('project_id', '=', of.projectId);
  const row = await query.executeTakeFirst();
  return row === undefined ? undefined : toRun(row);
}

/** What a run must not show: its target's keys. For whoever works on it. */
export async function getRunSecrets(db: Queries, id: string): Promise<Readonly<Record<string, string>>> {
  const row = await db.selectFrom('import_runs').select('secrets').where('id', '=', id).executeTakeFirst();
  return row === undefined ? {} : (JSON.parse(row.secrets) as Record<string, string>);
}

export interface RunFilter {
  readonly projectId: number;
  readonly configId?: number | undefined;
  /** Slug of the import app. */
  readonly source?: string | undefined;
  readonly states?: readonly RunState[] | undefined;
}

/** Newest first; ids grow with time. */
export async function listRuns(
  db: Queries,
  of: RunFilter,
  page: { readonly limit: number; readonly offset: number },
): Promise<{ readonly count: number; readonly runs: Run[] }> {
  let query = db.selectFrom('import_runs').where('project_id', '=', of.projectId);
  if (of.configId !== undefined) query = query.where('config_id', '=', of.configId);
  if (of.source !== undefined) query = query.where('source', '=', of.source);
  if (of.states !== undefined) query = query.where('state', 'in', of.states);
  const { count } = await query.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await query.select(runColumns).orderBy('id', 'desc').limit(page.limit).offset(page.offset).execute();
  return { count: Number(count), runs: rows.map(toRun) };
}
