import { randomBytes } from 'node:crypto';
import { keyedHash } from '../../base/keyed-hash.ts';
import type { KeptOutList } from '../../wire/contract/kept-out.ts';
import { bumpConfigRevision } from './config-revision.ts';
import type { Queries } from './queries.ts';

/** Identifies the content of a project's list. */
export interface KeptOutVersion {
  readonly hashKey: string;
  readonly version: number;
}

const rowsPerQuery = 500;
const hashKeyBytes = 32;

/** Adds stored ids to the list of a project. Ids that are on it already stay. Belongs in a transaction. */
export async function keepOut(tx: Queries, projectId: number, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  // Serialises changes of the list.
  await bumpConfigRevision(tx);
  const hashKey = await changedList(tx, projectId);
  for (const hashes of chunksOf(hashKey, ids)) {
    await tx
      .insertInto('kept_out_ids')
      .values(hashes.map((id_hash) => ({ project_id: projectId, id_hash })))
      .onConflict((conflict) => conflict.columns(['project_id', 'id_hash']).doNothing())
      .execute();
  }
}

/** Increases the version of the list, creating the list if necessary; returns its key. */
async function changedList(tx: Queries, projectId: number): Promise<string> {
  const { hash_key: hashKey } = await tx
    .insertInto('kept_out_lists')
    .values({ project_id: projectId, hash_key: randomBytes(hashKeyBytes).toString('hex'), version: 1 })
    .onConflict((conflict) =>
      conflict.column('project_id').doUpdateSet((eb) => ({ version: eb('kept_out_lists.version', '+', 1) })),
    )
    .returning('hash_key')
    .executeTakeFirstOrThrow();
  return hashKey;
}

/** Removes ids from the list; `undefined` removes all. Returns how many were removed. Belongs in a transaction. */
export async function removeKeptOut(
  tx: Queries,
  projectId: number,
  ids: readonly string[] | undefined,
): Promise<number> {
  await bumpConfigRevision(tx);
  const hashKey = (await keptOutVersions(tx, [projectId])).get(projectId)?.hashKey;
  if (hashKey === undefined) return 0;
  let removed = 0;
  if (ids === undefined) removed = await deleteHashes(tx, projectId, undefined);
  else for (const hashes of chunksOf(hashKey, ids)) removed += await deleteHashes(tx, projectId, hashes);
  // Without a list nothing of the project's events is hashed.
  if ((await countKeptOut(tx, projectId)) > 0) await changedList(tx, projectId);
  else await tx.deleteFrom('kept_out_lists').where('project_id', '=', projectId).execute();
  return removed;
}

async function deleteHashes(tx: Queries, projectId: number, hashes: readonly string[] | undefined): Promise<number> {
  const all = tx.deleteFrom('kept_out_ids').where('project_id', '=', projectId);
  const { numDeletedRows } = await (
    hashes === undefined ? all : all.where('id_hash', 'in', hashes)
  ).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

function* chunksOf(hashKey: string, ids: readonly string[]): Generator<string[]> {
  for (let from = 0; from < ids.length; from += rowsPerQuery) {
    yield ids.slice(from, from + rowsPerQuery).map((id) => keyedHash(hashKey, id));
  }
}

export async function countKeptOut(db: Queries, projectId: number): Promise<number> {
  const { count } = await db
    .selectFrom('kept_out_ids')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('project_id', '=', projectId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns the versions of the lists of those projects that have one. */
export async function keptOutVersions(
  db: Queries,
  projectIds: readonly number[],
): Promise<ReadonlyMap<number, KeptOutVersion>> {
  if (projectIds.length === 0) return new Map();
  const rows = await db.selectFrom('kept_out_lists').selectAll().where('project_id', 'in', projectIds).execute();
  return new Map(rows.map(({ project_id: id, hash_key: hashKey, version }) => [id, { hashKey, version }]));
}

/** Returns the list of a project; `undefined` if it has none. */
export async function findKeptOut(db: Queries, projectId: number): Promise<KeptOutList | undefined> {
  const list = (await keptOutVersions(db, [projectId])).get(projectId);
  if (list === undefined) return undefined;
  const rows = await db.selectFrom('kept_out_ids').select('id_hash').where('project_id', '=', projectId).execute();
  return { hashKey: list.hashKey, hashes: rows.map(({ id_hash: hash }) => hash) };
}
