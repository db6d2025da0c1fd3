/**
 * Uploaded files in staging, where every process of the service can read them. A file consists of the pieces in which it was uploaded, one
 * object each; the metadata store records which belong to it, so that a piece is either complete or absent.
 */
import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { dayMs } from '../../base/time.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { uploadsPrefix, type Staging } from '../staging.ts';

export interface StagedUpload {
  readonly name: string;
  /** Changes when the file is replaced. */
  readonly uploadId: string;
  readonly bytes: number;
  /** ms since the epoch. */
  readonly changedAt: number;
}

interface StagedPiece {
  readonly key: string;
  readonly bytes: number;
}

export interface StagedUploadsDeps {
  readonly db: Queries;
  readonly staging: Staging;
}

/** An upload that takes longer has failed. */
const lostAfterMs = 2 * dayMs;

/** Returns a key for a piece whose upload begins now (ms). */
export function newPieceKey(projectId: number, now: number): string {
  return `${uploadsPrefix}${projectId}/${now}-${newId()}`;
}

/** Lists uploads, sorted by name. */
export async function listUploads(db: Queries, projectId: number): Promise<readonly StagedUpload[]> {
  const rows = await uploadsOf(db, projectId).orderBy('name').execute();
  return rows.map(toUpload);
}

export async function findUpload(db: Queries, projectId: number, name: string): Promise<StagedUpload | undefined> {
  const row = await uploadsOf(db, projectId).where('name', '=', name).executeTakeFirst();
  return row && toUpload(row);
}

/** Reads the whole file. Throws StagingMissingError if it is replaced or deleted in the meantime. */
export async function* readUpload(
  { db, staging }: StagedUploadsDeps,
  { uploadId }: Pick<StagedUpload, 'uploadId'>,
): AsyncGenerator<Buffer> {
  for (const key of await keysOf(db, uploadId)) yield* staging.read(key);
}

/**
 * Adds a staged piece to the file; a piece at 0 starts the file over. Runs in the caller's transaction, which excludes other writers of the
 * file. Returns keys that are no longer used.
 */
export async function addPiece(
  tx: Queries,
  projectId: number,
  { name, start, piece, now }: { name: string; start: number; piece: StagedPiece; now: number },
): Promise<readonly string[]> {
  const before = await findUpload(tx, projectId, name);
  const isNew = start === 0 || before === undefined;
  const replaced = isNew && before !== undefined ? await forgetUpload(tx, projectId, before) : [];
  const uploadId = isNew ? newId() : before.uploadId;
  const columns = { bytes: start + piece.bytes, changed_at: isoMicros(now) };
  await tx
    .insertInto('import_uploads')
    .values({ project_id: projectId, name, upload_id: uploadId, ...columns })
    .onConflict((conflict) => conflict.columns(['project_id', 'name']).doUpdateSet(columns))
    .execute();
  if (piece.bytes === 0) return [...replaced, piece.key];
  await tx
    .insertInto('import_upload_pieces')
    .values({ upload_id: uploadId, project_id: projectId, start, bytes: piece.bytes, staging_key: piece.key })
    .execute();
  return replaced;
}

/** Returns the keys that are no longer used. */
export async function forgetUpload(
  tx: Queries,
  projectId: number,
  { name, uploadId }: StagedUpload,
): Promise<readonly string[]> {
  const keys = await keysOf(tx, uploadId);
  await tx.deleteFrom('import_upload_pieces').where('upload_id', '=', uploadId).execute();
  await tx.deleteFrom('import_uploads').where('project_id', '=', projectId).where('name', '=', name).execute();
  return keys;
}

/** Replaces a file that has the name. Returns keys that are no longer used. */
export async function renameUpload(
  tx: Queries,
  projectId: number,
  name: string,
  to: string,
): Promise<readonly string[]> {
  const replaced = await findUpload(tx, projectId, to);
  const keys = replaced === undefined ? [] : await forgetUpload(tx, projectId, replaced);
  const file = tx.updateTable('import_uploads').where('project_id', '=', projectId).where('name', '=', name);
  await file.set({ name: to }).execute();
  return keys;
}

/** Removes pieces that belong to no file: of failed uploads and of deleted projects. `now` in ms. */
export async function removeLostPieces({ db, staging }: StagedUploadsDeps, now: number): Promise<void> {
  const staged = (await staging.list(uploadsPrefix)).map(({ key }) => key);
  if (staged.length === 0) return;
  const known = new Set(
    (await db.selectFrom('import_upload_pieces').select('staging_key').execute()).map((row) => row.staging_key),
  );
  const projects = new Set((await db.selectFrom('projects').select('id').execute()).map(({ id }) => id));
  for (const key of staged) {
    const { projectId, begunAt } = parsePieceKey(key);
    const isLost = !known.has(key) && begunAt < now - lostAfterMs;
    if (isLost || !projects.has(projectId)) await staging.remove(key);
  }
}

/** Returns the project of a piece, and when its upload began (ms). */
function parsePieceKey(key: string): { readonly projectId: number; readonly begunAt: number } {
  const [, projectId, begunAt] = /\/(\d+)\/(\d+)-[^/]+$/.exec(key) ?? [];
  return { projectId: Number(projectId ?? 0), begunAt: Number(begunAt ?? 0) };
}

function uploadsOf(db: Queries, projectId: number) {
  return db
    .selectFrom('import_uploads')
    .select(['name', 'upload_id', 'bytes', 'changed_at'])
    .where('project_id', '=', projectId);
}

async function keysOf(db: Queries, uploadId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('import_upload_pieces')
    .select('staging_key')
    .where('upload_id', '=', uploadId)
    .orderBy('start')
    .execute();
  return rows.map((row) => row.staging_key);
}

interface UploadRow {
  readonly name: string;
  readonly upload_id: string;
  readonly bytes: number;
  readonly changed_at: string;
}

function toUpload({ name, upload_id: uploadId, bytes, changed_at: changedAt }: UploadRow): StagedUpload {
  return { name, uploadId, bytes, changedAt: Date.parse(changedAt) };
}
