import { minuteMs, dayMs } from '../../base/time.ts';
import { sql, type Insertable } from 'kysely';
import { isFresh, isoMicros, type Clock } from '../../base/clock.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import type { PluginLogLevel, PluginLogSource } from '../../stores/metadata/tables/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { LogLine } from '../sandbox/sandbox.ts';
import { createWriteBuffer } from './write-buffer.ts';
import type { WarnLog } from '../../server/telemetry/log.ts';
import { v7 } from 'uuid';

export interface PluginLogs {
  /**
   * Never throws and never waits. `mask` removes the config's secrets from the text. Lines beyond 1,000 per minute and config are
   * dropped; one line then reports how many.
   */
  add(configId: number, projectId: number, line: LogLine, mask?: (text: string) => string): void;
  /** Resolves once previously added lines are stored, if the store accepts them. */
  flush(): Promise<void>;
  /**
   * Removes lines and errors older than the retention, all but the newest 10,000 lines of each config, and rows left by plugins of
   * deleted configs.
   */
  prune(): Promise<void>;
  close(): Promise<void>;
}

interface PluginLogsDeps {
  readonly days: number;
  readonly clock: Clock;
  readonly log: WarnLog;
}

const linesPerMinuteMax = 1000;
const rowsPerWrite = 500;
const rowsMax = 20_000;
const messageCharsMax = 8192;
/** Maximum error of a line's stated time; beyond it the present time is used. */
const timeSlackMs = 10 * minuteMs;

type LogRow = Insertable<Database['plugin_logs']>;

interface Minute {
  readonly configId: number;
  readonly projectId: number;
  readonly start: number;
  lines: number;
  dropped: number;
  instanceId: string;
}

export function createPluginLogs(db: Metadata, { days, clock, log }: PluginLogsDeps): PluginLogs {
  const idAt = createLogIds();
  const minutes = new Map<number, Minute>();
  const buffer = createWriteBuffer<LogRow>({
    what: 'log lines of plugins',
    log,
    rowsPerWrite,
    rowsMax,
    flushMs: 1000,
    write: async (rows) => {
      await db.insertInto('plugin_logs').values(rows).execute();
    },
  });

  const endMinute = (minute: Minute, now: number): void => {
    minutes.delete(minute.configId);
    if (minute.dropped === 0) return;
    const message = `${minute.dropped} lines were dropped: expected at most ${linesPerMinuteMax} per minute`;
    buffer.add(
      rowOf(minute, { time: now, level: 'WARN', source: 'SYSTEM', message, instanceId: minute.instanceId }, idAt),
    );
  };
  const endMinutes = (now: number, all = false): void => {
    for (const minute of minutes.values()) if (all || !isFresh(minute.start, minuteMs, now)) endMinute(minute, now);
  };
  const minuteOf = (configId: number, projectId: number, now: number): Minute => {
    const known = minutes.get(configId);
    if (known !== undefined && isFresh(known.start, minuteMs, now)) return known;
    if (known !== undefined) endMinute(known, now);
    const minute = { configId, projectId, start: now, lines: 0, dropped: 0, instanceId: '' };
    minutes.set(configId, minute);
    return minute;
  };
  // For configs that went silent after too many lines.
  const timer = setInterval(() => endMinutes(clock.now()), minuteMs).unref();

  return {
    add: (configId, projectId, line, mask = (text) => text) => {
      const now = clock.now();
      const minute = minuteOf(configId, projectId, now);
      const time = Math.floor(Math.abs(line.time - now) <= timeSlackMs ? line.time : now);
      minute.instanceId = line.instanceId;
      minute.lines += 1;
      const isTaken =
        minute.lines <= linesPerMinuteMax &&
        buffer.add(rowOf(minute, { ...line, time, message: mask(line.message) }, idAt));
      if (!isTaken) minute.dropped += 1;
    },
    flush: buffer.flush,
    prune: () => prunePluginLogs(db, { days, now: clock.now() }),
    close: async () => {
      clearInterval(timer);
      endMinutes(clock.now(), true);
      await buffer.close();
    },
  };
}

function rowOf({ configId, projectId }: Minute, line: LogLine, idAt: (timeMs: number) => string): LogRow {
  return {
    id: idAt(line.time),
    project_id: projectId,
    config_id: configId,
    created_at: isoMicros(line.time),
    level: line.level,
    source: line.source,
    message: storable(line.message, messageCharsMax),
    instance_id: storable(line.instanceId, 100),
  };
}

/** Returns text that every store accepts: no NUL, no half of a surrogate pair, limited in length. */
export function storable(text: string, charsMax: number): string {
  const cut = text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text;
  return cut.replaceAll('\0', '\ufffd').toWellFormed();
}

export interface LogFilter {
  /** Unset or an empty list means all. */
  readonly levels?: readonly PluginLogLevel[];
  readonly sources?: readonly PluginLogSource[];
  /** Part of the message; ASCII letters in either case. */
  readonly search?: string;
  /** Only lines older than this: the id of a line (for the next page) or ms since the epoch (exclusive). */
  readonly before?: string | number;
  /** Only lines newer than this: the id of a line, or ms since the epoch (inclusive). */
  readonly after?: string | number;
  readonly limit: number;
}

export interface StoredLogLine {
  readonly id: string;
  /** ISO 8601 UTC. */
  readonly created_at: string;
  readonly level: PluginLogLevel;
  readonly source: PluginLogSource;
  readonly message: string;
  readonly instance_id: string;
}

/** Lists newest first. For the next page pass the id of the last line as `before`. */
export async function listLogs(
  db: Queries,
  { projectId, configId }: { readonly projectId: number; readonly configId: number },
  { levels, sources, search, before, after, limit }: LogFilter,
): Promise<StoredLogLine[]> {
  let query = db
    .selectFrom('plugin_logs')
    .select(['id', 'created_at', 'level', 'source', 'message', 'instance_id'])
    .where('config_id', '=', configId)
    .where('project_id', '=', projectId);
  if (levels !== undefined && levels.length > 0) query = query.where('level', 'in', levels);
  if (sources !== undefined && sources.length > 0) query = query.where('source', 'in', sources);
  if (before !== undefined) query = query.where('id', '<', typeof before === 'number' ? firstLogId(before) : before);
  if (after !== undefined) query = query.where('id', '>', typeof after === 'number' ? firstLogId(after) : after);
  if (search !== undefined && search !== '') {
    const pattern = `%${search.replaceAll('\0', '\ufffd').replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
    query = query.where(sql<boolean>`lower(message) like lower(${pattern}) escape '\\'`);
  }
  return query.orderBy('id', 'desc').limit(limit).execute();
}

const rowsPerDelete = 2000;
export const linesPerConfigMax = 10_000;

/** Deletes in small steps, so that no write waits long. `now` is in ms. */
async function prunePluginLogs(
  db: Metadata,
  { days, now }: { readonly days: number; readonly now: number },
): Promise<void> {
  const since = now - days * dayMs;
  await deleteWhile(async () => {
    const old = db.selectFrom('plugin_logs').select('id').where('id', '<', firstLogId(since)).limit(rowsPerDelete);
    return db.deleteFrom('plugin_logs').where('id', 'in', old).executeTakeFirst();
  });
  await db.deleteFrom('plugin_errors').where('last_seen', '<', isoMicros(since)).execute();
  for (const configId of await configsBeyondLimit(db)) await pruneLines(db, configId);
  for (const table of ['plugin_storage', 'plugin_own_metrics'] as const) await pruneOrphans(db, table);
}

/** Deletes rows that a plugin wrote after its config was deleted. Selects first, because a delete takes a write lock. */
async function pruneOrphans(db: Metadata, table: 'plugin_storage' | 'plugin_own_metrics'): Promise<void> {
  const orphans = await db
    .selectFrom(table)
    .select('config_id')
    .distinct()
    .where('config_id', 'not in', db.selectFrom('plugin_configs').select('id'))
    .execute();
  for (const { config_id: configId } of orphans) {
    await db.deleteFrom(table).where('config_id', '=', configId).execute();
  }
}

async function configsBeyondLimit(db: Metadata): Promise<number[]> {
  const rows = await db
    .selectFrom('plugin_logs')
    .select('config_id')
    .groupBy('config_id')
    .having((eb) => eb(eb.fn.countAll(), '>', linesPerConfigMax))
    .execute();
  return rows.map((row) => row.config_id);
}

async function pruneLines(db: Metadata, configId: number): Promise<void> {
  const last = await db
    .selectFrom('plugin_logs')
    .select('id')
    .where('config_id', '=', configId)
    .orderBy('id', 'desc')
    .offset(linesPerConfigMax)
    .limit(1)
    .executeTakeFirst();
  if (last === undefined) return;
  await deleteWhile(async () => {
    const old = db
      .selectFrom('plugin_logs')
      .select('id')
      .where('config_id', '=', configId)
      .where('id', '<=', last.id)
      .limit(rowsPerDelete);
    return db.deleteFrom('plugin_logs').where('id', 'in', old).executeTakeFirst();
  });
}

async function deleteWhile(step: () => Promise<{ readonly numDeletedRows: bigint }>): Promise<void> {
  for (;;) {
    const { numDeletedRows } = await step();
    if (numDeletedRows < BigInt(rowsPerDelete)) return;
  }
}

/** Ids of log rows are ordered by time and, within a millisecond, by creation in this process. */
function createLogIds(): (timeMs: number) => string {
  let sequence = 0;
  return (timeMs) => v7({ msecs: timeMs, seq: (sequence = (sequence + 1) & 0x7fffffff) });
}

/** Returns a text below every id of this millisecond and later, and above every earlier one. */
function firstLogId(timeMs: number): string {
  const hex = Math.min(Math.max(0, Math.floor(timeMs)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
