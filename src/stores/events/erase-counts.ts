import type { EraseRows, StoreReader } from './eventstore.ts';
import { groupTextSql, mentionedTypes } from './run-rows.ts';
import { selectionConditions } from './selection.ts';

/** Reads what an erasure concerns, before and after it. */
export interface MatchedEvents {
  readonly events: number;
  readonly rows: number;
  readonly byName: Readonly<Record<string, number>>;
  /** By month of the timestamp, `2026-11`. */
  readonly byMonth: Readonly<Record<string, number>>;
}

/** Counts events as reads return them, and rows as they are stored. */
export async function countMatched(store: StoreReader, { projectId, filter }: EraseRows): Promise<MatchedEvents> {
  const { sql, params } = selectionConditions(projectId, filter);
  const where = sql.join(' AND ');
  const cells = await store.query<{ name: string; month: string; events: string }>(
    `SELECT event AS name, formatDateTime(timestamp, '%Y-%m') AS month, count() AS events
FROM events FINAL WHERE ${where} GROUP BY name, month ORDER BY month, name`,
    params,
  );
  const sum = (of: (cell: (typeof cells)[number]) => string): Record<string, number> => {
    const sums = new Map<string, number>();
    for (const cell of cells) sums.set(of(cell), (sums.get(of(cell)) ?? 0) + Number(cell.events));
    return Object.fromEntries(sums);
  };
  return {
    events: cells.reduce((all, { events }) => all + Number(events), 0),
    rows: await countMatchedRows(store, { projectId, filter }),
    byName: sum(({ name }) => name),
    byMonth: sum(({ month }) => month),
  };
}

/** Counts stored rows, including those that are hidden by a row of the same identity. */
export async function countMatchedRows(store: StoreReader, { projectId, filter }: EraseRows): Promise<number> {
  const { sql, params } = selectionConditions(projectId, filter);
  const [row] = await store.query<{ c: string }>(`SELECT count() AS c FROM events WHERE ${sql.join(' AND ')}`, params);
  return Number(row?.c ?? 0);
}

/** Lists distinct ids of matching rows in order, after the one given. */
export async function matchedIds(
  store: StoreReader,
  { projectId, filter }: EraseRows,
  after: string,
  limit: number,
): Promise<string[]> {
  const { sql, params } = selectionConditions(projectId, filter);
  const rows = await store.query<{ distinct_id: string }>(
    `SELECT DISTINCT distinct_id FROM events WHERE ${sql.join(' AND ')} AND distinct_id > {after_id:String}
ORDER BY distinct_id LIMIT {page:UInt32}`,
    { ...params, after_id: after, page: limit },
  );
  return rows.map((row) => row.distinct_id);
}

/** Lists groups that matching events changed, as `[type, key]`, and group types that they mention. */
export async function matchedGroups(
  store: StoreReader,
  { projectId, filter }: EraseRows,
): Promise<{ readonly groups: readonly (readonly [string, string])[]; readonly types: readonly string[] }> {
  const { sql, params } = selectionConditions(projectId, filter);
  const where = sql.join(' AND ');
  const groups = await store.query<{ type: string; key: string }>(
    `SELECT DISTINCT ${groupTextSql('$group_type')} AS type, ${groupTextSql('$group_key')} AS key
FROM events WHERE ${where} AND event IN ('$groupidentify', '$group_identify') ORDER BY type, key`,
    params,
  );
  const types = await store.query<{ type: string }>(
    `SELECT DISTINCT arrayJoin(${mentionedTypes}) AS type FROM events
WHERE ${where} AND position(properties, '$group') > 0 ORDER BY type`,
    params,
  );
  return {
    groups: groups.map(({ type, key }) => [type, key] as const),
    types: types.map(({ type }) => type).filter((type) => type !== ''),
  };
}
