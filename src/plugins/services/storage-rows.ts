import { sql } from 'kysely';
import type { Queries } from '../../stores/metadata/queries.ts';

const keysPerQueryMax = 500;
const rowsPerInsertMax = 100;

export interface StorageRow {
  readonly config_id: number;
  readonly project_id: number;
  /** The result of storedKey. */
  readonly key: string;
  /** JSON text. */
  readonly value: string;
}

/** Returns JSON texts by stored key. */
export async function readValues(db: Queries, configId: number, keys: readonly string[]): Promise<Map<string, string>> {
  const values = new Map<string, string>();
  for (let from = 0; from < keys.length; from += keysPerQueryMax) {
    const rows = await db
      .selectFrom('plugin_storage')
      .select(['key', 'value'])
      .where('config_id', '=', configId)
      .where('key', 'in', keys.slice(from, from + keysPerQueryMax))
      .execute();
    for (const { key, value } of rows) values.set(key, value);
  }
  return values;
}

export async function writeValues(db: Queries, rows: readonly StorageRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsPerInsertMax) {
    await db
      .insertInto('plugin_storage')
      .values(rows.slice(from, from + rowsPerInsertMax))
      .onConflict((conflict) =>
        conflict.columns(['config_id', 'key']).doUpdateSet((eb) => ({ value: eb.ref('excluded.value') })),
      )
      .execute();
  }
}

export async function deleteValues(db: Queries, configId: number, keys: readonly string[]): Promise<void> {
  for (let from = 0; from < keys.length; from += keysPerQueryMax) {
    await db
      .deleteFrom('plugin_storage')
      .where('config_id', '=', configId)
      .where('key', 'in', keys.slice(from, from + keysPerQueryMax))
      .execute();
  }
}

/**
 * Returns the JSON text of a key and locks it until the transaction ends; an unset key starts as 0. Writing the row, even
 * unchanged, locks it in every dialect.
 */
export async function lockNumber(tx: Queries, row: Omit<StorageRow, 'value'>): Promise<string> {
  const { value } = await tx
    .insertInto('plugin_storage')
    .values({ ...row, value: '0' })
    .onConflict((conflict) => conflict.columns(['config_id', 'key']).doUpdateSet({ value: sql`plugin_storage.value` }))
    .returning('value')
    .executeTakeFirstOrThrow();
  return value;
}
