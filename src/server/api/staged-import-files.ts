import { createHash } from 'node:crypto';
import { ApiError } from '../../wire/contract/errors.ts';
import { newId } from '../../base/ids.ts';
import {
  addPiece,
  findUpload,
  forgetUpload,
  listUploads,
  newPieceKey,
  renameUpload,
  type StagedUpload,
} from '../../imports/uploads/staged-uploads.ts';
import type { Staging } from '../../imports/staging.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { holdLease, renewLease, type NamedLease } from '../../stores/metadata/named-leases.ts';
import { hasStoreAlone, type Queries } from '../../stores/metadata/queries.ts';
import {
  filesMax,
  refuseMisplaced,
  refuseTooLarge,
  tightestRoom,
  type ImportFiles,
  type Room,
  type StoredFile,
  type UploadLimits,
} from './import-upload-rules.ts';

interface StagedPlace extends UploadLimits {
  readonly db: Metadata;
  readonly staging: Staging;
  readonly projectId: number;
}

/** Without a renewal for this time, another process may write the file. */
const leaseMs = 30_000;

/** Uploaded files of a project in staging; any process may receive any piece. */
export function createStagedImportFiles(place: StagedPlace): ImportFiles {
  const { db, staging, projectId } = place;
  const discard = async (keys: readonly string[]): Promise<void> => {
    for (const key of keys) await staging.remove(key);
  };
  return {
    list: async () => (await listUploads(db, projectId)).slice(0, filesMax).map(toStored),
    write: (name, offset, content) =>
      whileHeld(place, name, async (lease) => {
        const { room, key } = await preparePiece(place, name, offset);
        const hash = createHash('sha256');
        const { bytes } = await staging.write(key, counted(content, room, hash.update.bind(hash)));
        const replaced = await db
          .transaction()
          .execute((tx) => commitPiece(tx, place, { name, start: offset, piece: { key, bytes }, lease }))
          .catch(async (error: unknown) => {
            await discard([key]);
            throw error;
          });
        await discard(replaced);
        const file = await findUpload(db, projectId, name);
        if (file === undefined) throw new ApiError('conflict', `"${name}" was removed during the upload.`);
        return { ...toStored(file), sha256: hash.digest('hex') };
      }),
    rename: (name, to) =>
      whileHeld(place, to, async () => {
        await discard(await db.transaction().execute((tx) => renameUpload(tx, projectId, name, to)));
      }),
    remove: (name) =>
      whileHeld(place, name, async () => {
        const file = await findUpload(db, projectId, name);
        if (file === undefined) return false;
        await discard(await db.transaction().execute((tx) => forgetUpload(tx, projectId, file)));
        return true;
      }),
  };
}

/** Allows one writer per file at a time, across processes. */
async function whileHeld<T>(
  { db, projectId }: StagedPlace,
  name: string,
  work: (lease: NamedLease) => Promise<T>,
): Promise<T> {
  const lease = { name: `upload ${projectId}/${name}`, owner: newId() };
  const ignore = (): void => undefined;
  // A lost lease is detected in the transaction that needs it.
  const deps = { db, clock: createDatabaseClock(db), leaseMs, onLost: ignore, onTrouble: ignore };
  const release = await holdLease(deps, lease);
  if (release === undefined) throw new ApiError('conflict', `"${name}" is being uploaded; retry later.`);
  try {
    return await work(lease);
  } finally {
    await release();
  }
}

async function preparePiece(
  place: StagedPlace,
  name: string,
  offset: number,
): Promise<{ readonly room: Room; readonly key: string }> {
  const room = await roomFor(place.db, place, name, offset);
  return { room, key: newPieceKey(place.projectId, await createDatabaseClock(place.db).now()) };
}

/** Also refuses a file that does not fit. */
async function roomFor(db: Queries, place: StagedPlace, name: string, offset: number): Promise<Room> {
  const files = await listUploads(db, place.projectId);
  const bytes = files.find((file) => file.name === name)?.bytes;
  refuseMisplaced({ name, offset }, { bytes, files: files.length });
  const used = files.reduce((sum, file) => sum + (file.name === name && offset === 0 ? 0 : file.bytes), 0);
  return tightestRoom(place, { used, offset });
}

interface NewPiece {
  readonly name: string;
  readonly start: number;
  readonly piece: { readonly key: string; readonly bytes: number };
  readonly lease: NamedLease;
}

async function commitPiece(tx: Queries, place: StagedPlace, { name, start, piece, lease }: NewPiece) {
  const { projectId } = place;
  // One file of a project at a time, so that two cannot use the same free space.
  const project = tx.selectFrom('projects').select('id').where('id', '=', projectId);
  const found = await (hasStoreAlone(tx) ? project : project.forNoKeyUpdate()).executeTakeFirst();
  if (found === undefined) throw new ApiError('not_found', 'Not found.');
  const now = await createDatabaseClock(tx).now();
  if (!(await renewLease(tx, lease, now, leaseMs))) {
    throw new ApiError('conflict', `The upload of "${name}" was interrupted for more than 30 s; send the piece again.`);
  }
  refuseTooLarge(piece.bytes, await roomFor(tx, place, name, start));
  return addPiece(tx, projectId, { name, start, piece, now });
}

async function* counted(
  content: AsyncIterable<Buffer>,
  room: Room,
  seen: (chunk: Buffer) => void,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of content) {
    bytes += chunk.length;
    refuseTooLarge(bytes, room);
    seen(chunk);
    yield chunk;
  }
}

function toStored({ name, bytes, changedAt }: StagedUpload): StoredFile {
  return { name, bytes, changedAt };
}
