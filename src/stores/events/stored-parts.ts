import { StoreDeniedError, type StoreReader } from './eventstore.ts';

/** A part of the table, which the engine writes once and never changes: merges and deletes replace it by another. */
export interface StoredPart {
  /** Id of the part in this process. */
  readonly id: number;
  /** Whether it is the result of a merge, so that it contains each event once. */
  readonly isMerged: boolean;
  /** Days of the events' identity, as numbers. */
  readonly firstDay: number;
  readonly lastDay: number;
  /** Time ranges of all its rows, if requested. */
  readonly times: Readonly<Partial<Record<TimeColumn, TimeRange>>>;
}

export type TimeColumn = 'timestamp' | 'received_at';

/** First and last time, inclusive; µs. */
export interface TimeRange {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Returns the table's parts with rows at the moment of the call; undefined if they cannot be determined: the store is a cluster or empty,
 * its user lacks permission, or the parts change faster than they are read.
 */
export type PartsReader = (column?: TimeColumn) => Promise<readonly StoredPart[] | undefined>;

interface ListedPart {
  readonly name: string;
  readonly level: number;
  /** Hash of its content: a restored store may reuse a name. */
  readonly hash: string;
}

interface PartRow {
  readonly part: string;
  readonly first_day: number;
  readonly last_day: number;
  readonly first_time: string;
  readonly last_time: string;
}

/** Other engines (of a cluster, or of a cloud service) list only the parts of one server. */
const listSql = `SELECT name, toUInt32(level) AS level, hash_of_all_files AS hash FROM system.parts
WHERE database = currentDatabase() AND table = 'events' AND active AND engine = 'ReplacingMergeTree'`;

/** The engine has a part's days in its metadata; times are read, once per part. */
function rangesSql(column: TimeColumn | undefined): string {
  const times =
    column &&
    `, toUnixTimestamp64Micro(min(${column})) AS first_time,
  toUnixTimestamp64Micro(max(${column})) AS last_time`;
  return `SELECT _part AS part, toInt32(min(day)) AS first_day, toInt32(max(day)) AS last_day${times ?? ''} FROM events`;
}

/** Attempts: merges replace parts in the meantime, a few times a minute. */
const attempts = 3;

export function createPartsReader(store: StoreReader): PartsReader {
  /** `null` means that the part has no rows. */
  let known: ReadonlyMap<string, StoredPart | null> = new Map();
  const ids = new Map<string, number>();
  let lastId = 0;
  const idOf = (key: string): number => {
    const id = ids.get(key) ?? ++lastId;
    ids.set(key, id);
    return id;
  };
  const record = (part: ListedPart, row: PartRow, column: TimeColumn | undefined): StoredPart => {
    const time = column && { [column]: { first: BigInt(row.first_time), last: BigInt(row.last_time) } };
    return {
      id: idOf(keyOf(part)),
      isMerged: part.level > 0,
      firstDay: row.first_day,
      lastDay: row.last_day,
      times: { ...known.get(keyOf(part))?.times, ...time },
    };
  };
  return async (column) => {
    const unseen = new Set<string>();
    let found = new Map<string, StoredPart | null>();
    for (let attempt = 0; attempt < attempts; attempt++) {
      const listed = await list(store);
      if (listed.length === 0) return undefined;
      const seen = new Map([...known, ...found]);
      found = new Map();
      for (const key of listed.map(keyOf)) {
        const part = seen.get(key);
        const isEnough = part === null || (part && (column === undefined || part.times[column]));
        if (part !== undefined && isEnough) found.set(key, part);
        // It existed before and after its rows were read.
        else if (unseen.has(key)) found.set(key, null);
      }
      const missing = listed.filter((part) => !found.has(keyOf(part)));
      const rows = missing.length === 0 ? undefined : await readRanges(store, column, missing, listed.length);
      for (const part of missing) {
        const row = rows?.get(part.name);
        if (row === undefined) unseen.add(keyOf(part));
        else found.set(keyOf(part), record(part, row, column));
      }
      if (found.size < listed.length) continue;
      known = found;
      for (const key of ids.keys()) if (!found.has(key)) ids.delete(key);
      return [...found.values()].filter((part) => part !== null);
    }
    return undefined;
  };
}

async function list(store: StoreReader): Promise<readonly ListedPart[]> {
  try {
    return await store.query<ListedPart>(listSql);
  } catch (error) {
    if (error instanceof StoreDeniedError) return [];
    throw error;
  }
}

async function readRanges(
  store: StoreReader,
  column: TimeColumn | undefined,
  parts: readonly ListedPart[],
  listed: number,
): Promise<ReadonlyMap<string, PartRow>> {
  const isAll = parts.length === listed;
  const condition = isAll ? '' : 'WHERE _part IN (SELECT arrayJoin({parts:Array(String)}))';
  const params = isAll ? {} : { parts: parts.map(({ name }) => name) };
  const rows = await store.query<PartRow>(`${rangesSql(column)} ${condition} GROUP BY part`, params);
  return new Map(rows.map((row) => [row.part, row]));
}

function keyOf({ name, hash }: ListedPart): string {
  return `${name} ${hash}`;
}
