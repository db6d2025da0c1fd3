import type { RunRef, StoreReader } from './eventstore.ts';

/**
 * Reads what an import run left in the store, for undoing it. A run is read month by month, because these are the table's partitions
 * and a query over one of them ends.
 */
export interface RunCell {
  /** Day of the events' identity, `2024-03-01`. */
  readonly day: string;
  readonly event: string;
  /** Rows of the run, including hidden ones. */
  readonly rows: number;
  /** Events that reads return as those of the run. */
  readonly own: number;
  /** Events that reads return, from any source. */
  readonly all: number;
}

export interface RunGroup {
  readonly type: string;
  readonly key: string;
}

export interface RunMonth extends RunRef {
  /** Month of the events' `day`: 202403 is March 2024. */
  readonly month: number;
}

const ofMonth = 'project_id = {project:Int32} AND toYYYYMM(day) = {month:UInt32}';
const ofRun = 'import_run = {run:String}';

function paramsOf({ projectId, runId, month }: RunMonth) {
  return { project: projectId, run: runId, month };
}

/** Returns the months with events of the project, as 202403, oldest first. */
export async function monthsOfProject(store: StoreReader, projectId: number): Promise<number[]> {
  const rows = await store.query<{ month: number }>(
    'SELECT DISTINCT toYYYYMM(day) AS month FROM events WHERE project_id = {project:Int32} ORDER BY month',
    { project: projectId },
  );
  return rows.map(({ month }) => Number(month));
}

/** Counts the stored rows of the run, including hidden ones. */
export async function countRunRows(store: StoreReader, of: RunMonth): Promise<number> {
  const sql = `SELECT count() AS rows FROM events PREWHERE ${ofMonth} WHERE ${ofRun}`;
  const [row] = await store.query<{ rows: string }>(sql, paramsOf(of));
  return Number(row?.rows ?? 0);
}

/** Counts by day and name, where the run has rows. */
export async function runCells(store: StoreReader, of: RunMonth): Promise<RunCell[]> {
  const rows = await store.query<{ day_text: string; event: string; stored: string }>(
    `SELECT toString(day) AS day_text, event, count() AS stored
FROM events PREWHERE ${ofMonth} WHERE ${ofRun} GROUP BY day, event ORDER BY day, event`,
    paramsOf(of),
  );
  if (rows.length === 0) return [];
  const shown = await shownCells(store, of);
  return rows.map(({ day_text: day, event, stored }) => {
    const { own = 0, all = 0 } = shown.get(cellKey(day, event)) ?? {};
    return { day, event, rows: Number(stored), own, all };
  });
}

/** Counts the events that reads return for a month: `cellKey` → events of the run, and all events. */
export async function shownCells(
  store: StoreReader,
  of: RunMonth,
): Promise<ReadonlyMap<string, { readonly own: number; readonly all: number }>> {
  const rows = await store.query<{ day_text: string; event: string; own: string; shown: string }>(
    `SELECT toString(day) AS day_text, event, countIf(${ofRun}) AS own, count() AS shown
FROM events FINAL PREWHERE ${ofMonth} GROUP BY day, event`,
    paramsOf(of),
  );
  return new Map(
    rows.map((row) => [cellKey(row.day_text, row.event), { own: Number(row.own), all: Number(row.shown) }]),
  );
}

export function cellKey(day: string, event: string): string {
  return `${day}\0${event}`;
}

/** Lists distinct ids of the run's rows in order. `after` is the last id of the previous page, or '' for the first. */
export async function runDistinctIds(
  store: StoreReader,
  of: RunMonth,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await store.query<{ distinct_id: string }>(
    `SELECT DISTINCT distinct_id FROM events PREWHERE ${ofMonth}
WHERE ${ofRun} AND distinct_id > {after:String} ORDER BY distinct_id LIMIT {limit:UInt32}`,
    { ...paramsOf(of), after, limit },
  );
  return rows.map((row) => row.distinct_id);
}

/** Counts the distinct ids of the run's rows over all months. */
export async function countRunDistinctIds(store: StoreReader, { projectId, runId }: RunRef): Promise<number> {
  const [row] = await store.query<{ ids: string }>(
    `SELECT uniqExact(distinct_id) AS ids FROM events PREWHERE project_id = {project:Int32} WHERE ${ofRun}`,
    { project: projectId, run: runId },
  );
  return Number(row?.ids ?? 0);
}

/** Lists groups that events of the run changed. */
export async function runGroups(store: StoreReader, of: RunMonth): Promise<RunGroup[]> {
  return await store.query<{ type: string; key: string }>(
    `SELECT DISTINCT ${groupTextSql('$group_type')} AS type, ${groupTextSql('$group_key')} AS key
FROM events PREWHERE ${ofMonth} AND event IN ('$groupidentify', '$group_identify')
WHERE ${ofRun} ORDER BY type, key`,
    paramsOf(of),
  );
}

/** Lists names of group types that the run's events mention. */
export async function runGroupTypes(store: StoreReader, of: RunMonth): Promise<string[]> {
  const rows = await store.query<{ type: string }>(
    `SELECT DISTINCT arrayJoin(${mentionedTypes}) AS type FROM events PREWHERE ${ofMonth}
WHERE ${ofRun} AND position(properties, '$group') > 0 ORDER BY type`,
    paramsOf(of),
  );
  return rows.map(({ type }) => type).filter((type) => type !== '');
}

/** The property `$group_type` or `$group_key` as text. */
export const groupTextSql = (key: '$group_type' | '$group_key'): string =>
  `if(JSONType(properties, '${key}') = 'String', JSONExtractString(properties, '${key}'), JSONExtractRaw(properties, '${key}'))`;

/** Names of group types that an event mentions. */
export const mentionedTypes =
  "arrayConcat(JSONExtractKeys(properties, '$groups'), [JSONExtractString(properties, '$group_type')])";

/** Returns which of these group types events of the project still mention. */
export async function mentionedGroupTypes(
  store: StoreReader,
  projectId: number,
  types: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await store.query<{ type: string }>(
    `SELECT DISTINCT arrayJoin(arrayIntersect(${mentionedTypes}, {types:Array(String)})) AS type
FROM events PREWHERE project_id = {project:Int32} WHERE position(properties, '$group') > 0`,
    { project: projectId, types },
  );
  return new Set(rows.map(({ type }) => type));
}
