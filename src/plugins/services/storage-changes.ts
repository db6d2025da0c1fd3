import { sql } from 'kysely';
import type { Queries } from '../../stores/metadata/queries.ts';
import { deleteValues, writeValues, type StorageRow } from './storage-rows.ts';
import { parseStored } from './storage-text.ts';

/** The writes of a window. */
export interface StorageChanges {
  /** Number of the window in its storage; increases by one. */
  readonly generation: number;
  readonly rows: readonly StorageChange[];
}

export interface StorageChange {
  readonly configId: number;
  readonly projectId: number;
  /** The stored form. */
  readonly key: string;
  /** JSON text; null means deleted. */
  readonly text: string | null;
  /**
   * Set if the window only incremented the key: the sum of the increments and the JSON text that they started from (null if unset).
   * Additions by others in the meantime, for example a job of the plugin, are kept.
   */
  readonly added: { readonly by: number; readonly base: string | null } | null;
}

const idsPerQueryMax = 500;

/**
 * Writes a window's changes in the transaction that stores the window. Configs deleted in the meantime are skipped; changes by
 * others in between are overwritten, except additions.
 */
export async function writeStorageChanges(tx: Queries, { rows }: StorageChanges): Promise<void> {
  if (rows.length === 0) return;
  const alive = await livingConfigs(tx, [...new Set(rows.map(({ configId }) => configId))]);
  // Sorted, so that two transactions cannot deadlock.
  const changes = rows.filter(({ configId }) => alive.has(configId)).sort(byKey);
  const current = await lockNumbers(
    tx,
    changes.filter(({ added }) => added !== null),
  );
  const written: StorageRow[] = [];
  const gone = new Map<number, string[]>();
  for (const change of changes) {
    const { configId, projectId, key } = change;
    const value = finalText(change, current.get(idOf(configId, key)));
    if (value !== null) written.push({ config_id: configId, project_id: projectId, key, value });
    else gone.set(configId, [...(gone.get(configId) ?? []), key]);
  }
  await writeValues(tx, written);
  for (const [configId, keys] of gone) await deleteValues(tx, configId, keys);
}

function byKey(a: StorageChange, b: StorageChange): number {
  return a.configId - b.configId || (a.key < b.key ? -1 : 1);
}

function idOf(configId: number, key: string): string {
  return `${configId} ${key}`;
}

function finalText({ text, added }: StorageChange, current: string | undefined): string | null {
  if (added === null || current === undefined || current === (added.base ?? '0')) return text;
  const value = parseStored(current);
  return typeof value === 'number' ? JSON.stringify(value + added.by) : text;
}

async function livingConfigs(tx: Queries, ids: readonly number[]): Promise<Set<number>> {
  const alive = new Set<number>();
  for (let from = 0; from < ids.length; from += idsPerQueryMax) {
    const part = ids.slice(from, from + idsPerQueryMax);
    const rows = await tx.selectFrom('plugin_configs').select('id').where('id', 'in', part).execute();
    for (const { id } of rows) alive.add(id);
  }
  return alive;
}

/** Reads the stored numbers to add to, and locks them until the transaction ends. */
async function lockNumbers(tx: Queries, changes: readonly StorageChange[]): Promise<Map<string, string>> {
  const current = new Map<string, string>();
  for (let from = 0; from < changes.length; from += idsPerQueryMax) {
    const rows = changes.slice(from, from + idsPerQueryMax).map(({ configId, projectId, key }) => {
      return { config_id: configId, project_id: projectId, key, value: '0' };
    });
    const locked = await tx
      .insertInto('plugin_storage')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['config_id', 'key']).doUpdateSet({ value: sql`plugin_storage.value` }),
      )
      .returning(['config_id', 'key', 'value'])
      .execute();
    for (const row of locked) current.set(idOf(row.config_id, row.key), row.value);
  }
  return current;
}
