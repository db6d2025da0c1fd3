import type { Settings } from '../../config/settings.ts';
import { clickhouseRights } from '../../../stores/events/server-rights.ts';
import { inspectClickhouse, type ClickhouseInspection, type ClickhouseServer } from '../stores.ts';
import { clockFaults } from './clock-faults.ts';
import { CheckSkippedError, definePart, type Fault, type Outcome } from './check.ts';

export interface ClickhouseSubject extends ClickhouseInspection {
  readonly settings: Settings;
}

const oldestVersion = [24, 8] as const;
const freeBytesWanted = 10 * 1024 ** 3;
const freeBytesNeeded = 1024 ** 3;

export const clickhousePart = definePart<ClickhouseSubject>({
  title: 'ClickHouse',
  opened: 'clickhouse_reachable',
  applies: ({ settings }) => settings.clickhouseUrl !== '',
  open: async ({ settings }) => ({ ...(await inspect(settings)), settings }),
  checks: {
    clickhouse_reachable: {
      checks: 'a server of `CLICKHOUSE_URL` or `MILLRACE_CLICKHOUSE_REPLICAS` accepts the user, and has the database',
      severity: 'failed',
      advice:
        'Correct `CLICKHOUSE_URL`, start the server, or create the user or the database (on every server of a cluster).',
      find: ({ version, server }) => `ClickHouse ${version} at ${server.host}`,
    },
    clickhouse_version: {
      checks: 'every server is ClickHouse 24.8 or newer',
      severity: 'failed',
      advice: 'Upgrade the server.',
      find: async (subject) =>
        await onEach(subject, async (server) => {
          const [row] = await server.rows<{ version: string }>('SELECT version() AS version');
          const [major = 0, minor = 0] = (row?.version ?? '').split('.').map(Number);
          const isOld = major < oldestVersion[0] || (major === oldestVersion[0] && minor < oldestVersion[1]);
          return isOld ? [`expected 24.8 or newer, got ${row?.version}`] : [];
        }),
    },
    clickhouse_rights: {
      checks: 'the user has the rights of docs/guides/clickhouse-cluster.md',
      severity: 'failed',
      advice: 'Grant what is missing on every server; the guide has the statements.',
      find: findMissingRights,
    },
    clickhouse_constraints: {
      checks: 'the profile of the user permits the settings of inserts and queries',
      severity: 'failed',
      advice: 'Remove the constraints on these settings, and `readonly`, from the profile of the user.',
      find: findConstraints,
    },
    clickhouse_overflow: {
      checks: 'a query beyond a limit fails, instead of returning a part of its result (`…_overflow_mode`)',
      severity: 'failed',
      advice: 'Set these settings to `throw` in the profile of the user.',
      find: async ({ server }) => {
        const modes = `SELECT name, value FROM system.settings WHERE endsWith(name, '_overflow_mode') AND value NOT IN ('throw', '')`;
        return (await server.rows<SettingRow>(modes)).map(({ name, value }) => `${name} is ${value}`);
      },
    },
    clickhouse_result_settings: {
      checks: 'no setting of the profile changes the results of queries',
      severity: 'warning',
      advice: 'Remove these settings from the profile of the user, or give Millrace a user with its own profile.',
      find: findResultSettings,
    },
    clickhouse_disk: {
      checks: 'every server has free disk: 10 GiB, at least 1 GiB',
      severity: 'warning',
      advice: 'Free space, enlarge the disk, or shorten the retention of projects.',
      find: async (subject) =>
        await onEach(subject, async (server): Promise<Fault[]> => {
          const [row] = await server.rows<{ free: string }>('SELECT filesystemAvailable() AS free');
          const free = Number(row?.free ?? 0);
          const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
          if (free < freeBytesNeeded) return [{ detail, severity: 'failed' }];
          return free < freeBytesWanted ? [detail] : [];
        }),
    },
    clickhouse_clock: {
      checks: 'the clocks of this machine and of every server differ by less than 5 s',
      severity: 'warning',
      advice: 'Synchronise the clocks (NTP).',
      find: async (subject) =>
        await onEach(subject, async (server) => {
          const faults = await clockFaults('the server', async () => {
            const [row] = await server.rows<{ now: string }>('SELECT toUnixTimestamp64Milli(now64(3)) AS now');
            return Number(row?.now);
          });
          return typeof faults === 'string' ? [] : faults;
        }),
    },
    clickhouse_schema: {
      checks: 'the tables of events have a version that this program supports',
      severity: 'failed',
      advice: 'Start the newer version of the program again, or restore a backup from before the upgrade.',
      find: async ({ schema }) => {
        const { version, usableFrom, isUsable, supported } = await schema();
        if (!isUsable)
          return [`expected version ${supported} or older, got ${version}, usable from version ${usableFrom} on`];
        return version === 0 ? 'no tables yet; the first process creates them' : `version ${version} of ${supported}`;
      },
    },
    clickhouse_tables: {
      checks:
        'the tables of events are those of a cluster if `MILLRACE_CLICKHOUSE_CLUSTER` is set, and of a single server otherwise',
      severity: 'failed',
      advice:
        'Set `MILLRACE_CLICKHOUSE_CLUSTER` as it was when the tables were created. Tables of a single server do not become replicated: copy them into a new database (`millrace backup`, `millrace restore`).',
      find: findOtherTables,
    },
  },
});

interface SettingRow {
  readonly name: string;
  readonly value: string;
}

async function inspect(settings: Settings): Promise<ClickhouseInspection> {
  try {
    return await inspectClickhouse(settings);
  } catch (error) {
    // The error names no address, since clients of the service see it.
    const origin = URL.canParse(settings.clickhouseUrl) ? new URL(settings.clickhouseUrl).origin : 'CLICKHOUSE_URL';
    throw new Error(`cannot use ClickHouse at ${origin}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** Calls `find` for each server that answers, and names the server in its faults. Which do not is a separate check. */
export async function onEach(
  { shards }: Pick<ClickhouseSubject, 'shards'>,
  find: (server: ClickhouseServer) => Promise<readonly Fault[]>,
): Promise<Fault[]> {
  const servers = [...new Set((await shards()).flat())];
  const found = servers.map(async (server) => {
    if (!(await server.answers())) return [];
    return (await find(server)).map((fault) => named(server, fault));
  });
  return (await Promise.all(found)).flat();
}

function named({ host }: ClickhouseServer, fault: Fault): Fault {
  if (typeof fault === 'string') return `${host}: ${fault}`;
  return { ...fault, detail: `${host}: ${fault.detail}` };
}

/** SYNTAX_ERROR: before 24.11, servers have no CHECK GRANT. */
const isUnknownStatement = (error: unknown): boolean => error instanceof Error && /Code: 62[.,]/.test(error.message);

async function findMissingRights(subject: ClickhouseSubject): Promise<Outcome> {
  const { database, settings } = subject;
  const rights = clickhouseRights
    .filter(({ isOfCluster }) => isOfCluster === undefined || settings.clickhouseCluster !== '')
    .map(({ right }) => right.replace('{database}', `\`${database.replaceAll('`', '\\`')}\``));
  return await onEach(subject, async (server) => {
    const missing = await Promise.all(
      rights.map(async (right) => ((await hasRight(server, right)) ? [] : [`GRANT ${right}`])),
    );
    return missing.flat();
  });
}

async function hasRight(server: ClickhouseServer, right: string): Promise<boolean> {
  try {
    return await server.hasRight(right);
  } catch (error) {
    if (isUnknownStatement(error))
      throw new CheckSkippedError('servers before 24.11 cannot say which rights a user has');
    throw error;
  }
}

/** Settings that statements set, with the value that they need. */
const setByStatements = {
  async_insert: '0',
  insert_deduplicate: '1',
  insert_deduplication_token: '',
  max_partitions_per_insert_block: '0',
  optimize_on_insert: '0',
  max_execution_time: '',
  do_not_merge_across_partitions_select_final: '1',
} as const;

async function findConstraints({ server }: ClickhouseSubject): Promise<Outcome> {
  const names = Object.keys(setByStatements)
    .map((name) => `'${name}'`)
    .join(', ');
  const sql = `SELECT name, value FROM system.settings WHERE readonly = 1 AND name IN (${names}, 'readonly')`;
  const fixed = await server.rows<SettingRow>(sql);
  return fixed
    .filter(({ name, value }) => name !== 'readonly' && value !== setByStatements[name as keyof typeof setByStatements])
    .map(({ name, value }) => `the user must not change ${name}, which is ${value}`);
}

/** Values that leave results as they are, and what others do. */
const resultSettings: Readonly<Record<string, { readonly right: string; readonly effect: string }>> = {
  limit: { right: '0', effect: 'shortens every result' },
  offset: { right: '0', effect: 'skips rows of every result' },
  max_result_rows: { right: '0', effect: 'refuses longer results' },
  additional_table_filters: { right: '{}', effect: 'hides rows' },
  additional_result_filter: { right: '', effect: 'hides rows' },
  join_use_nulls: { right: '0', effect: 'changes joined columns' },
  transform_null_in: { right: '0', effect: 'changes comparisons with null' },
  session_timezone: { right: '', effect: 'shifts times without a zone' },
  select_sequential_consistency: { right: '0', effect: 'makes reads fail while a replica is behind' },
};

async function findResultSettings({ server }: ClickhouseSubject): Promise<Outcome> {
  const names = Object.keys(resultSettings)
    .map((name) => `'${name}'`)
    .join(', ');
  const rows = await server.rows<SettingRow>(`SELECT name, value FROM system.settings WHERE name IN (${names})`);
  return rows.flatMap(({ name, value }) => {
    const { right = value, effect = '' } = resultSettings[name] ?? {};
    return value === right ? [] : [`${name} is ${value}, which ${effect}`];
  });
}

async function findOtherTables(subject: ClickhouseSubject): Promise<Outcome> {
  const isCluster = subject.settings.clickhouseCluster !== '';
  return await onEach(subject, async (server) => {
    const rows = await server.rows<{ name: string; engine: string }>(
      `SELECT name, engine FROM system.tables WHERE database = currentDatabase() AND name IN ('events', 'events_local', 'schema_version')`,
    );
    const isRight = ({ name, engine }: { name: string; engine: string }): boolean => {
      if (!isCluster) return name !== 'events_local' && /^(Replacing)?MergeTree$/.test(engine);
      return name === 'events' ? engine === 'Distributed' : engine.startsWith('Replicated');
    };
    const wanted = isCluster ? 'tables of a cluster' : 'tables of a single server';
    return rows
      .filter((row) => !isRight(row))
      .map(({ name, engine }) => `expected ${wanted}, got ${name} with the engine ${engine}`);
  });
}
