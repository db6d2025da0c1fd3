import { covers, readPartName } from './chdb/part-names.ts';
import type { StoreReader } from './eventstore.ts';
import { damagedPartsSql, type DamagedPart } from './sql.ts';

/** A part at the time when the service stopped. */
export interface NotedPart {
  readonly name: string;
  readonly rows: number;
}

const partsSql = `SELECT name, rows, active FROM system.parts
WHERE database = currentDatabase() AND table = 'events' AND engine = 'ReplacingMergeTree' ORDER BY name`;

/** Lists parts; inactive ones were merged and are not deleted yet. */
async function listParts(store: StoreReader): Promise<(NotedPart & { readonly active: boolean })[]> {
  const parts = await store.query<{ name: string; rows: string | number; active: number }>(partsSql);
  return parts.map(({ name, rows, active }) => ({ name, rows: Number(rows), active: Number(active) === 1 }));
}

/** Lists the parts of an idle store. A part without rows may be removed at any time. */
export async function notedParts(store: StoreReader): Promise<NotedPart[]> {
  const parts = await listParts(store);
  return parts.filter(({ active, rows }) => active && rows > 0).map(({ name, rows }) => ({ name, rows }));
}

/** Returns the noted parts whose rows are in no existing part. Parts that the engine set aside as damaged are reported as such. */
export async function missingParts(store: StoreReader, noted: readonly NotedPart[]): Promise<NotedPart[]> {
  const there = [...(await listParts(store)), ...(await store.query<DamagedPart>(damagedPartsSql))]
    .map(({ name }) => readPartName(name.replace(/^[a-z-]+_(?=\d+_\d+_\d+_\d+)/, '')))
    .filter((part) => part !== undefined);
  return noted.filter(({ name }) => {
    const part = readPartName(name);
    return part !== undefined && !there.some((other) => covers(other, part));
  });
}

/** @param file with the note */
export function missingText(missing: readonly NotedPart[], file: string): string {
  if (missing.length === 0) return '';
  const rows = missing.reduce((sum, part) => sum + part.rows, 0);
  const names = missing.slice(0, 5).map(({ name }) => name);
  const more = missing.length > names.length ? ` and ${missing.length - names.length} more` : '';
  return (
    `Parts of the stored events were deleted while the service was stopped: ${names.join(', ')}${more}, with ${rows} rows. ` +
    `Restore the event store from a backup, or remove ${file} and start again to accept the loss.`
  );
}
