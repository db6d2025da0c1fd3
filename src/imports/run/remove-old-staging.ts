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
/** A worker that was writing a file when its run was deleted has finished by then. */
const lateFilesMs = 3_600_000;

interface RemoveStagingDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  /** Days after the run's end. */
  readonly keepDays: number;
  readonly runsPerPage?: number;
}

/**
 * Removes the staged records of runs that ended long enough ago: cancelled, undone, or completed up to the report. Rejected records and
 * results remain. A run whose target differs from what was staged keeps everything, because a user has to examine it. If its config is
 * deleted nothing can be done with it, and paused and failed runs of that config are cancelled.
 * @returns ids of the runs of which something was removed
 */
export async function removeOldStaging(deps: RemoveStagingDeps, now: number): Promise<string[]> {
  await cancelOrphans(deps.db, now);
  // Files of marked runs may still exist if the process died before removing them.
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

/** Cancels runs that could only have been resumed through a config that is deleted. */
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
      // It was deleted with its project, or cancelled, in the meantime.
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
  /** `null` means that it is deleted. */
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
  const needsReview = run.state === 'completed' && run.config !== null;
  if (needsReview && (await isDifferent(staging, run.id))) return false;
  // From here on its rejected records cannot be retried.
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

/** Returns whether verify found that the target differs from what the run staged. */
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
 * Removes all files of deleted projects and of removed runs: staged records, results, rejected records and uploads.
 * @param uploadsDir holds a directory per project, named by its id; `undefined` means that uploads are in staging
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
