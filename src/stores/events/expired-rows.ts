import { assert } from '../../base/assert.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreDeniedError, StoreUnavailableError } from './eventstore.ts';
import { engineCode } from './engine-errors.ts';
import { checkMonth } from './run-table-names.ts';

/** Times before which events have expired, µs since the epoch; `null` keeps all. */
export interface KeptSince {
  readonly live: bigint | null;
  readonly historical: bigint | null;
}

/** Which events of a project have expired, by their timestamp. */
export interface ProjectExpiry {
  readonly projectId: number;
  /** Applies to names that are not in `events`. */
  readonly keptSince: KeptSince;
  readonly events: readonly (KeptSince & { readonly event: string })[];
}

/** Rows removed from one month; of duplicates, each counts. */
export interface RemovedRows {
  /** In parts that were dropped as a whole. */
  readonly droppedRows: number;
  readonly droppedParts: number;
  /** Removed by rewriting the parts that other rows remain in. */
  readonly deletedRows: number;
  /** On disk, of one replica of each shard; of rewritten parts the proportion of their rows. */
  readonly bytes: number;
}

export const nothingRemoved: RemovedRows = { droppedRows: 0, droppedParts: 0, deletedRows: 0, bytes: 0 };

/** One server's table. */
export interface ExpiryTable {
  readonly table: string;
  rows<Row>(sql: string): Promise<Row[]>;
  command(sql: string): Promise<void>;
}

const partForm = /^[A-Za-z0-9_-]{1,200}$/;
const attempts = 3;
const deletePollMs = 1000;
const deletePollsMax = 60;
/** The part was merged in the meantime, or is being merged. */
const replacedCodes = new Set([
  232, // NO_SUCH_DATA_PART
  384, // PART_IS_TEMPORARILY_LOCKED
]);

/**
 * Removes expired rows of a month from one server's table. A part whose rows have all expired is dropped, which only changes metadata; the
 * other parts are rewritten without their expired rows. What is inserted in the meantime is in another part: a part never changes,
 * and one that a merge has replaced cannot be dropped any more.
 */
export async function removeExpiredRows(
  access: ExpiryTable,
  month: number,
  expiries: readonly ProjectExpiry[],
): Promise<RemovedRows> {
  const expired = anyExpiredSql(expiries);
  let removed = nothingRemoved;
  for (let attempt = 1; ; attempt++) {
    const parts = await partsWithExpired(access, month, expired);
    const whole = attempt > attempts ? [] : parts.filter((part) => part.expired === part.total);
    const dropped = await dropParts(access, whole);
    removed = addRemoved(removed, {
      droppedRows: sum(dropped, ({ total }) => total),
      droppedParts: dropped.length,
      deletedRows: 0,
      bytes: sum(dropped, ({ bytes }) => bytes),
    });
    // A merge has replaced some of them: what they contained may be together with other rows now.
    if (dropped.length < whole.length) continue;
    const mixed = parts.filter((part) => !whole.includes(part));
    if (mixed.length === 0) return removed;
    await waitForEarlierDelete(access, month);
    await access.command(deleteExpiredSql(access.table, month, expired));
    const bytes = sum(mixed, (part) => Math.round((part.bytes * part.expired) / part.total));
    return addRemoved(removed, { ...nothingRemoved, deletedRows: sum(mixed, (part) => part.expired), bytes });
  }
}

export function addRemoved(left: RemovedRows, right: RemovedRows): RemovedRows {
  return {
    droppedRows: left.droppedRows + right.droppedRows,
    droppedParts: left.droppedParts + right.droppedParts,
    deletedRows: left.deletedRows + right.deletedRows,
    bytes: left.bytes + right.bytes,
  };
}

interface PartRows {
  readonly part: string;
  readonly total: number;
  readonly expired: number;
  readonly bytes: number;
}

async function partsWithExpired({ table, rows }: ExpiryTable, month: number, expired: string): Promise<PartRows[]> {
  const of = `'${checkMonth(month)}'`;
  const counted = await rows<{ part: string; total: string; expired: string }>(
    `SELECT _part AS part, count() AS total, countIf(${expired}) AS expired FROM ${table}
WHERE _partition_id = ${of} GROUP BY part HAVING expired > 0 ORDER BY part`,
  );
  if (counted.length === 0) return [];
  const listed = await ofSystem(() =>
    rows<{ name: string; bytes: string }>(
      `SELECT name, bytes_on_disk AS bytes FROM system.parts
WHERE database = currentDatabase() AND table = '${table}' AND active AND partition_id = ${of}`,
    ),
  );
  const bytes = new Map(listed.map((part) => [part.name, Number(part.bytes)]));
  return counted.map((row) => {
    assert(partForm.test(row.part), `the name of a part, got ${JSON.stringify(row.part)}`);
    const [total, expiredRows] = [Number(row.total), Number(row.expired)];
    return { part: row.part, total, expired: expiredRows, bytes: bytes.get(row.part) ?? 0 };
  });
}

/** Tables of the system that a user may not be permitted to read only give figures and reasons. */
async function ofSystem<Row>(read: () => Promise<Row[]>): Promise<Row[]> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreDeniedError) return [];
    throw error;
  }
}

/**
 * Waits for a delete in the month whose caller did not see its end: the engine continues it, and another one would only be added to it.
 * Rejects with StoreUnavailableError if that takes long.
 */
async function waitForEarlierDelete({ table, rows }: ExpiryTable, month: number): Promise<void> {
  const sql = `SELECT latest_fail_reason AS reason FROM system.mutations
WHERE database = currentDatabase() AND table = '${table}' AND NOT is_done
  AND position(command, 'DELETE IN PARTITION ID ''${checkMonth(month)}''') > 0`;
  for (let polls = 0; polls < deletePollsMax; polls++) {
    const [open] = await ofSystem(() => rows<{ reason: string }>(sql));
    if (open === undefined) return;
    if (open.reason !== '')
      throw new StoreUnavailableError(`The event store cannot delete expired rows: ${open.reason}`);
    await sleep(deletePollMs);
  }
  throw new StoreUnavailableError(
    `The event store is still deleting expired rows of ${month}; the next attempt continues.`,
  );
}

/** Returns those that were still there. */
async function dropParts({ table, command }: ExpiryTable, parts: readonly PartRows[]): Promise<PartRows[]> {
  const dropped: PartRows[] = [];
  for (const part of parts) {
    try {
      await command(`ALTER TABLE ${table} DROP PART '${part.part}'`);
      dropped.push(part);
    } catch (error) {
      if (!isReplaced(error)) throw error;
    }
  }
  return dropped;
}

function isReplaced(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return false;
  return error instanceof Error && replacedCodes.has(engineCode(error.message));
}

/** Waits for this server only: the other replicas of the shard receive the change through ClickHouse Keeper. */
function deleteExpiredSql(table: string, month: number, expired: string): string {
  return `ALTER TABLE ${table} DELETE IN PARTITION ID '${checkMonth(month)}' WHERE ${expired} SETTINGS mutations_sync = 1`;
}

/** Throws unless the arguments of a removal are valid. */
export function checkExpiry(month: number, expiries: readonly ProjectExpiry[]): void {
  checkMonth(month);
  anyExpiredSql(expiries);
}

/**
 * Returns the condition of expired rows as text without parameters, because the engine stores a delete as text. Names are written in
 * hexadecimal digits, so that no byte of a client is in it.
 */
export function expiredSql({ projectId, keptSince, events }: ProjectExpiry): string {
  assert(Number.isInteger(projectId) && projectId >= 0, `the id of a project, got ${projectId}`);
  const all = [keptSince, ...events].flatMap(({ live, historical }) => [live, historical]);
  const latest = all.reduce((max, time) => (time !== null && (max === null || time > max) ? time : max), null);
  if (latest === null) return '0';
  const groups = Map.groupBy(events, ({ live, historical }) => `${live} ${historical}`);
  const rules = [...groups.values()].flatMap((group) => {
    const names = group.map(({ event }) => `unhex('${Buffer.from(event).toString('hex')}')`);
    const [first] = group;
    return first === undefined ? [] : [`event IN (${names.join(', ')})`, beforeSql(first)];
  });
  const matches = rules.length === 0 ? beforeSql(keptSince) : `multiIf(${[...rules, beforeSql(keptSince)].join(', ')})`;
  return `(project_id = ${projectId} AND timestamp < ${timeSql(latest)} AND ${matches})`;
}

function anyExpiredSql(expiries: readonly ProjectExpiry[]): string {
  return expiries.length === 0 ? '0' : `(${expiries.map(expiredSql).join(' OR ')})`;
}

function beforeSql({ live, historical }: KeptSince): string {
  if (live === historical) return live === null ? '0' : `timestamp < ${timeSql(live)}`;
  const ofLive = live === null ? [] : [`(NOT historical_migration AND timestamp < ${timeSql(live)})`];
  const ofHistorical = historical === null ? [] : [`(historical_migration AND timestamp < ${timeSql(historical)})`];
  return `(${[...ofLive, ...ofHistorical].join(' OR ')})`;
}

function timeSql(micros: bigint): string {
  return `fromUnixTimestamp64Micro(toInt64(${micros}), 'UTC')`;
}

function sum<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
