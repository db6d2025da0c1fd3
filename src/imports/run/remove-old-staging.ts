import { dayMs } from '../../base/time.ts';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isoMicros } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { VerifyResult } from './results.ts';
import { cancelRun, RunMissingError, RunTransitionError } from './run-transitions.ts';
import { removeLostPieces } from '../uploads/staged-uploads.ts';
import { stagingKeys, StagingMissingError, type Staging } from '../staging.ts';

const runsPerPageDefault = 100;
const foldersOfEarlierVersions = ['spills', 'days'];
/** A worker that was in the middle of a file when its run was deleted is through with it by then. */
const lateFilesMs = 3_600_000;

export interface RemoveStagingDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  /** Since the run ended. */
  readonly keepDays: number;
  readonly runsPerPage?: number;
}

/**
 * Removes what was staged by runs that ended long enough ago: cancelled, or completed to the report. Rejected records and
 * results stay. A run whose target has something else than was staged keeps everything: somebody has to look at it. When its
 * config is deleted nobody can, and no run of it waits for a person any more.
 * @returns ids of the runs of which something was removed
 */
export async function removeOldStaging(deps: RemoveStagingDeps, now: number): Promise<string[]> {
  await cancelOrphans(deps.db, now);
  // What was marked may not be gone yet: the process may have died in between.
  return [...(await removeEach(deps, 'marked', now)), ...(await removeEach(deps, 'unmarked', now))];
}

async function removeEach(deps: RemoveStagingDeps, which: 'marked' | 'unmarked', now: number): Promise<string[]> {
  const removed: string[] = [];
  const runsPerPage = deps.runsPerPage ?? runsPerPageDefault;
  let after: Place | undefined;
  do {
    const page = await runsAfter(deps, { which, after }, now).limit(runsPerPage).execute();
    for (const run of page) if (await removeStaged(deps, run, now)) removed.push(run.id);
    const last = page.at(-1);
    after = last && page.length === runsPerPage ? { id: last.id, at: last.finished_at ?? '' } : undefined;
  } while (after !== undefined);
  return removed;
}

/** Runs that only a person could have gone on with, through the config that is deleted. */
async function cancelOrphans(db: Metadata, now: number): Promise<void> {
  const orphans = await db
    .selectFrom('import_runs')
    .leftJoin('plugin_configs', 'plugin_configs.id', 'import_runs.config_id')
    .select('import_runs.id')
    .where('import_runs.state', 'in', ['paused', 'failed'])
    .where('import_runs.config_id', '!=', 0)
    .where('plugin_configs.id', 'is', null)
    .execute();
  for (const { id } of orphans) {
    try {
      await cancelRun(db, id, now);
    } catch (error) {
      // Gone with its project, or cancelled, in between.
      if (!(error instanceof RunMissingError || error instanceof RunTransitionError)) throw error;
    }
  }
}

interface Place {
  readonly id: string;
  readonly at: string;
}

interface EndedRun {
  readonly id: string;
  readonly state: string;
  readonly stage: string;
  readonly finished_at: string | null;
  /** Null: it is deleted. */
  readonly config: number | null;
}

function runsAfter(
  { db, keepDays }: RemoveStagingDeps,
  { which, after }: { readonly which: 'marked' | 'unmarked'; readonly after: Place | undefined },
  now: number,
) {
  return db
    .selectFrom('import_runs as run')
    .leftJoin('plugin_configs as config', 'config.id', 'run.config_id')
    .select(['run.id', 'run.state', 'run.stage', 'run.finished_at', 'config.id as config'])
    .where('run.state', 'in', ['completed', 'cancelled', 'undone'])
    .where('run.finished_at', '<', isoMicros(now - keepDays * dayMs))
    .$if(which === 'unmarked', (query) => query.where('run.staging_removed_at', 'is', null))
    .$if(which === 'marked', (query) => query.where('run.staging_removed_at', '>', isoMicros(now - dayMs)))
    .where((eb) =>
      eb.or([
        eb('run.state', 'in', ['cancelled', 'undone']),
        eb('run.stage', '=', 'report'),
        eb('config.id', 'is', null),
      ]),
    )
    .$if(after !== undefined, (query) =>
      query.where((eb) =>
        eb.or([
          eb('run.finished_at', '>', after?.at ?? ''),
          eb.and([eb('run.finished_at', '=', after?.at ?? ''), eb('run.id', '>', after?.id ?? '')]),
        ]),
      ),
    )
    .orderBy('run.finished_at')
    .orderBy('run.id');
}

async function removeStaged({ db, staging }: RemoveStagingDeps, run: EndedRun, now: number): Promise<boolean> {
  const isLooked = run.state === 'completed' && run.config !== null;
  if (isLooked && (await isDifferent(staging, run.id))) return false;
  // From here on nobody can ask to try its records again.
  const { numUpdatedRows } = await db
    .updateTable('import_runs')
    .set((eb) => ({ staging_removed_at: eb.fn.coalesce('staging_removed_at', eb.val(isoMicros(now))) }))
    .where('id', '=', run.id)
    .where('state', '=', run.state)
    .where('finished_at', '=', run.finished_at)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  for (const folder of ['parts', 'checked', ...foldersOfEarlierVersions]) await staging.remove(`${run.id}/${folder}/`);
  return true;
}

/** Whether the target has something else than the run staged, as verify found. */
export async function isDifferent(staging: Staging, runId: string): Promise<boolean> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(stagingKeys.verify(runId))) chunks.push(chunk);
    return (JSON.parse(Buffer.concat(chunks).toString()) as VerifyResult).verdict === 'different';
  } catch (error) {
    if (error instanceof StagingMissingError) return false;
    throw error;
  }
}

/**
 * Removes everything that deleted projects have left, and runs that were removed: what they staged, results and rejected records
 * too, and the files that were uploaded.
 * @param uploadsDir holds a directory per project, named by its id; undefined: uploads lie in staging
 */
export async function removeOfDeletedProjects(
  { db, staging }: Omit<RemoveStagingDeps, 'keepDays'>,
  uploadsDir: string | undefined,
  now: number,
): Promise<void> {
  for (const { run_id, created_at } of await db.selectFrom('import_leftovers').selectAll().execute()) {
    await staging.remove(`${run_id}/`);
    if (created_at > isoMicros(now - lateFilesMs)) continue;
    await db.deleteFrom('import_leftovers').where('run_id', '=', run_id).execute();
  }
  if (uploadsDir === undefined) return removeLostPieces({ db, staging }, now);
  const uploaders = (await readdir(uploadsDir)).filter((name) => /^\d+$/.test(name));
  for (const name of uploaders) {
    const project = await db.selectFrom('projects').select('id').where('id', '=', Number(name)).executeTakeFirst();
    if (project === undefined) await rm(join(uploadsDir, name), { recursive: true, force: true });
  }
}
