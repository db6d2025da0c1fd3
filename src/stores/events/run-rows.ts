import type { RunRef, StoreReader } from './eventstore.ts';

/**
 * What an import run left in the store, for taking it back. A run is asked for month by month: those are the table's partitions,
 * and one of them is a question that ends.
 */
export interface RunCell {
  /** `2024-03-01`, of the events' identity. */
  readonly day: string;
  readonly event: string;
  /** Rows of the run, hidden ones too. */
  readonly rows: number;
  /** Events that reads show as the run's. */
  readonly own: number;
  /** Events that reads show, whoever stored them. */
  readonly all: number;
}

export interface RunGroup {
  readonly type: string;
  readonly key: string;
}

export interface RunMonth extends RunRef {
  /** Of the events' `day`: 202403 is March 2024. */
  readonly month: number;
}

const ofMonth = 'project_id = {project:Int32} AND toYYYYMM(day) = {month:UInt32}';
const ofRun = 'import_run = {run:String}';

function paramsOf({ projectId, runId, month }: RunMonth) {
  return { project: projectId, run: runId, month };
}

/** Months in which the project has anything, as 202403; oldest first. */
export async function monthsOfProject(store: StoreReader, projectId: number): Promise<number[]> {
  const rows = await store.query<{ month: number }>(
    'SELECT DISTINCT toYYYYMM(day) AS month FROM events WHERE project_id = {project:Int32} ORDER BY month',
    { project: projectId },
  );
  return rows.map(({ month }) => Number(month));
}

/** Rows of the run that are there, hidden ones too. */
export async function countRunRows(store: StoreReader, of: RunMonth): Promise<number> {
  const sql = `SELECT count() AS rows FROM events PREWHERE ${ofMonth} WHERE ${ofRun}`;
  const [row] = await store.query<{ rows: string }>(sql, paramsOf(of));
  return Number(row?.rows ?? 0);
}

/** By day and name, wherever the run has rows. */
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

/** What reads show of a month: `cellKey` → events of the run, and of all. */
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

/** Distinct ids of the run's rows, in their order. `after`: the last of the page before; '' for the first. */
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

/** How many distinct ids the run's rows have, over all months. */
export async function countRunDistinctIds(store: StoreReader, { projectId, runId }: RunRef): Promise<number> {
  const [row] = await store.query<{ ids: string }>(
    `SELECT uniqExact(distinct_id) AS ids FROM events PREWHERE project_id = {project:Int32} WHERE ${ofRun}`,
    { project: projectId, run: runId },
  );
  return Number(row?.ids ?? 0);
}

/** Groups that the run said something of. */
export async function runGroups(store: StoreReader, of: RunMonth): Promise<RunGroup[]> {
  const text = (key: string): string =>
    `if(JSONType(properties, '${key}') = 'String', JSONExtractString(properties, '${key}'), JSONExtractRaw(properties, '${key}'))`;
  return await store.query<{ type: string; key: string }>(
    `SELECT DISTINCT ${text('$group_type')} AS type, ${text('$group_key')} AS key
FROM events PREWHERE ${ofMonth} AND event IN ('$groupidentify', '$group_identify')
WHERE ${ofRun} ORDER BY type, key`,
    paramsOf(of),
  );
}

/** Names of the group types that the run's events mention. */
export async function runGroupTypes(store: StoreReader, of: RunMonth): Promise<string[]> {
  const rows = await store.query<{ type: string }>(
    `SELECT DISTINCT arrayJoin(${mentionedTypes}) AS type FROM events PREWHERE ${ofMonth}
WHERE ${ofRun} AND position(properties, '$group') > 0 ORDER BY type`,
    paramsOf(of),
  );
  return rows.map(({ type }) => type).filter((type) => type !== '');
}

const mentionedTypes =
  "arrayConcat(JSONExtractKeys(properties, '$groups'), [JSONExtractString(properties, '$group_type')])";

/** Which of these group types any event of the project still mentions. */
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
