import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isoMicros } from '../../base/clock.ts';
import { dayMs } from '../../base/time.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { Staging } from '../staging.ts';
import { forgetUpload } from './staged-uploads.ts';

interface RemoveUploadsDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  /** Has a directory per project, named by its id; `undefined` means that uploads are in staging. */
  readonly uploadsDir: string | undefined;
  /** Days after its last change; 0 keeps all. */
  readonly days: number;
}

/**
 * Removes uploaded files by age, except of projects with a run that has not ended: it may read them again.
 * @returns removed files as `project/name`
 */
export async function removeOldUploads(deps: RemoveUploadsDeps, now: number): Promise<string[]> {
  if (deps.days === 0) return [];
  const before = now - deps.days * dayMs;
  return deps.uploadsDir === undefined
    ? await removeStaged(deps, before)
    : await removeFiles(deps.db, deps.uploadsDir, before);
}

async function removeFiles(db: Metadata, uploadsDir: string, before: number): Promise<string[]> {
  const removed: string[] = [];
  for (const project of (await readdir(uploadsDir)).filter((name) => /^\d+$/.test(name))) {
    const names = (await readdir(join(uploadsDir, project))).filter((name) => !name.startsWith('.'));
    const old: string[] = [];
    for (const name of names) {
      const file = await stat(join(uploadsDir, project, name)).catch(absent);
      if (file !== undefined && file.mtimeMs < before) old.push(name);
    }
    if (old.length === 0 || (await hasOpenRuns(db, Number(project)))) continue;
    for (const name of old) await rm(join(uploadsDir, project, name), { force: true });
    removed.push(...old.map((name) => `${project}/${name}`));
  }
  return removed;
}

/** A file may be deleted by a user in the meantime. */
function absent(error: unknown): undefined {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
  throw error;
}

async function removeStaged({ db, staging }: RemoveUploadsDeps, before: number): Promise<string[]> {
  const old = await db
    .selectFrom('import_uploads')
    .select(['project_id', 'name', 'upload_id', 'bytes', 'changed_at'])
    .where('changed_at', '<', isoMicros(before))
    .orderBy('project_id')
    .orderBy('name')
    .execute();
  const removed: string[] = [];
  for (const { project_id: projectId, name, upload_id: uploadId, bytes, changed_at: changedAt } of old) {
    const keys = await db.transaction().execute(async (tx) => {
      // In the meantime it may have been replaced, or a run may have been started that reads it.
      const upload = tx.selectFrom('import_uploads').select('name').where('upload_id', '=', uploadId);
      const still = await upload.where('changed_at', '=', changedAt).executeTakeFirst();
      if (still === undefined || (await hasOpenRuns(tx, projectId))) return undefined;
      return await forgetUpload(tx, projectId, { name, uploadId, bytes, changedAt: Date.parse(changedAt) });
    });
    if (keys === undefined) continue;
    for (const key of keys) await staging.remove(key);
    removed.push(`${projectId}/${name}`);
  }
  return removed;
}

async function hasOpenRuns(db: Queries, projectId: number): Promise<boolean> {
  const row = await db
    .selectFrom('import_runs')
    .select('id')
    .where('project_id', '=', projectId)
    .where('state', 'in', ['queued', 'running', 'paused'])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
