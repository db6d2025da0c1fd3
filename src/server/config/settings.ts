import { clickhouseClusterSettings } from './clickhouse-cluster-settings.ts';
import { exportSettings } from './export-settings.ts';
import { importSettings } from './import-settings.ts';
import { kafkaSettings } from './kafka-settings.ts';
import { noticeSettings } from './notice-settings.ts';
import { processingSettings } from './processing-settings.ts';
import { projectLimitSettings } from './project-limit-settings.ts';
import { signInSettings } from './sign-in-settings.ts';
import { telemetrySettings } from './telemetry-settings.ts';

/**
 * Every setting, declared once. Types, validation, `--help`, `millrace config show` and docs/reference/settings.md are
 * generated from this table. Precedence: flag > environment > file > default. Every secret can also be given as `NAME_FILE`.
 */
export const settingDefinitions = {
  host: { env: 'MILLRACE_HOST', type: 'string', default: '127.0.0.1', help: 'Address to listen on.' },
  port: {
    env: 'MILLRACE_PORT',
    type: 'integer',
    default: 8000,
    min: 0,
    max: 65_535,
    help: 'Port to listen on; 0 picks a free one.',
  },
  dataDir: {
    env: 'MILLRACE_DATA_DIR',
    type: 'string',
    default: './data',
    help: 'Data directory of the embedded stores.',
  },
  siteUrl: {
    env: 'MILLRACE_SITE_URL',
    type: 'string',
    default: '',
    help: 'Public address of this service, for links. Empty for http://HOST:PORT.',
  },
  allowedHosts: {
    env: 'MILLRACE_ALLOWED_HOSTS',
    type: 'string',
    default: '',
    help: 'Comma-separated hosts under which API and console answer, in addition to those of MILLRACE_SITE_URL, loopback and MILLRACE_HOST; `*` for any. Capture answers under every host.',
  },
  roles: {
    env: 'MILLRACE_ROLES',
    type: 'list',
    default: ['capture', 'pipeline', 'api', 'jobs'],
    choices: ['capture', 'pipeline', 'api', 'jobs'],
    renamed: { worker: ['pipeline', 'jobs'] },
    help:
      'Roles of this process. With fewer than all roles, processes must share stores: KAFKA_BROKERS, DATABASE_URL, ' +
      'CLICKHOUSE_URL and, for api and jobs, a bucket in MILLRACE_IMPORT_STAGING.',
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    type: 'string',
    default: '',
    secret: true,
    help: 'PostgreSQL for the metadata. Empty for SQLite in the data directory.',
  },
  databaseConnections: {
    env: 'MILLRACE_DATABASE_CONNECTIONS',
    type: 'integer',
    default: 20,
    min: 4,
    max: 1000,
    help: 'Maximum number of PostgreSQL connections of this process, including its threads.',
  },
  clickhouseUrl: {
    env: 'CLICKHOUSE_URL',
    type: 'string',
    default: '',
    secret: true,
    help: 'ClickHouse server for events (http://user:password@host:8123/database). Empty for embedded chDB.',
  },
  kafkaBrokers: {
    env: 'KAFKA_BROKERS',
    type: 'string',
    default: '',
    help: 'Kafka for the event log: host:port, comma-separated. Empty for files in the data directory, for one process.',
  },
  eventLog: {
    env: 'MILLRACE_EVENT_LOG',
    type: 'choice',
    default: 'auto',
    choices: ['auto', 'postgres'],
    help:
      'Where accepted events wait until they are stored. `auto`: Kafka if KAFKA_BROKERS is set, otherwise files in the data directory. ' +
      '`postgres`: the database of DATABASE_URL, for several processes without Kafka.',
  },
  eventLogRetentionHours: {
    env: 'MILLRACE_EVENT_LOG_RETENTION_HOURS',
    type: 'integer',
    default: 0,
    min: 0,
    max: 8760,
    help:
      'How long records stay in the event log after their events are stored, in Kafka or PostgreSQL, to be read again. 0 deletes them ' +
      'within seconds.',
  },
  ...clickhouseClusterSettings,
  bootstrapPersonalApiKey: {
    env: 'MILLRACE_BOOTSTRAP_PERSONAL_API_KEY',
    type: 'string',
    default: '',
    secret: true,
    help: 'Personal API key (phx_…) with all scopes, created on first start.',
  },
  bootstrapProjectApiKey: {
    env: 'MILLRACE_BOOTSTRAP_PROJECT_API_KEY',
    type: 'string',
    default: '',
    secret: true,
    help: 'Project key (phc_…) of the first project. Empty for a random one.',
  },
  ...signInSettings,
  ...telemetrySettings,
  historicalAgreement: {
    env: 'MILLRACE_HISTORICAL_AGREEMENT',
    type: 'choice',
    default: 'optional',
    choices: ['optional', 'required'],
    help: 'Whether historical batches above 10,000 events/min or 20 million in total require an approved agreement.',
  },
  apiRateLimit: {
    env: 'MILLRACE_API_RATE_LIMIT',
    type: 'string',
    default: '480/min,4800/h',
    help: 'Requests per personal key, e.g. `480/min,4800/h`; `off` for none. Console sessions are exempt.',
  },
  drainMs: {
    env: 'MILLRACE_DRAIN_MS',
    type: 'integer',
    default: 0,
    min: 0,
    max: 60_000,
    help: 'Time after SIGTERM during which requests are still accepted while /readyz returns 503, so that load balancers stop routing to this process.',
  },
  logLevel: {
    env: 'MILLRACE_LOG_LEVEL',
    type: 'choice',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    help: 'Log level.',
  },
  trustProxy: {
    env: 'MILLRACE_TRUST_PROXY',
    type: 'boolean',
    default: false,
    help: 'Take the client address from X-Forwarded-For: the last one that is not in a private network.',
  },
  captureBodyBytesMax: {
    env: 'MILLRACE_CAPTURE_BODY_BYTES_MAX',
    type: 'integer',
    default: 20_971_520,
    min: 1024,
    max: 268_435_456,
    help: 'Maximum size of a capture body as received, in bytes.',
  },
  captureInflatedBytesMax: {
    env: 'MILLRACE_CAPTURE_INFLATED_BYTES_MAX',
    type: 'integer',
    default: 104_857_600,
    min: 1024,
    max: 1_073_741_824,
    help: 'Maximum size of a capture body after decompression, in bytes.',
  },
  captureEventBytesMax: {
    env: 'MILLRACE_CAPTURE_EVENT_BYTES_MAX',
    type: 'integer',
    default: 1_000_000,
    min: 1024,
    max: 20_971_520,
    help: 'Maximum size of an event, in bytes of JSON.',
  },
  captureBodyTimeoutMs: {
    env: 'MILLRACE_CAPTURE_BODY_TIMEOUT_MS',
    type: 'integer',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: 'Time limit for receiving a body. Half of it without any bytes also ends the request.',
  },
  backlogEventsMax: {
    env: 'MILLRACE_BACKLOG_EVENTS_MAX',
    type: 'integer',
    default: 5_000_000,
    min: 1000,
    max: 10_000_000_000,
    help: 'Events waiting per lane above which capture returns 503. A single project is limited to four times the remaining capacity.',
  },
  backlogBytesMax: {
    env: 'MILLRACE_BACKLOG_BYTES_MAX',
    type: 'integer',
    default: 10_737_418_240,
    min: 1_048_576,
    max: 1_099_511_627_776,
    help: 'Body bytes waiting per lane above which capture returns 503. A single project is limited to four times the remaining capacity.',
  },
  ...projectLimitSettings,
  ...processingSettings,
  slots: {
    env: 'MILLRACE_SLOTS',
    type: 'integer',
    default: 64,
    min: 1,
    max: 4096,
    help: 'With several processes, the number of slots that projects are distributed over; with Kafka, one partition each. Fixed once the event log is created.',
  },
  ...kafkaSettings,
  geoipDatabase: {
    env: 'MILLRACE_GEOIP_DATABASE',
    type: 'string',
    default: '',
    help: 'MaxMind City database (.mmdb) for the GeoIP transformation and for plugins. Reloaded when the file changes.',
  },
  outboundAllow: {
    env: 'MILLRACE_OUTBOUND_ALLOW',
    type: 'string',
    default: '',
    help: 'Comma-separated private addresses that plugins and installations may reach: hosts, host:port or CIDR ranges.',
  },
  outboundCa: {
    env: 'MILLRACE_OUTBOUND_CA',
    type: 'string',
    default: '',
    help: 'File with certificates (PEM) to trust in requests of plugins and installations, in addition to the default ones.',
  },
  outboundTimeoutMs: {
    env: 'MILLRACE_OUTBOUND_TIMEOUT_MS',
    type: 'integer',
    default: 10_000,
    min: 100,
    max: 120_000,
    help: "Time limit of a plugin's request.",
  },
  outboundBytesMax: {
    env: 'MILLRACE_OUTBOUND_BYTES_MAX',
    type: 'integer',
    default: 20_971_520,
    min: 1024,
    max: 1_073_741_824,
    help: "Maximum response size of a plugin's request, in bytes.",
  },
  ...noticeSettings,
  npmRegistry: {
    env: 'MILLRACE_NPM_REGISTRY',
    type: 'string',
    default: '',
    help: 'npm registry for plugins. Empty for the one that npm is configured with.',
  },
  sandboxMemoryBytesMax: {
    env: 'MILLRACE_SANDBOX_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 134_217_728,
    min: 16_777_216,
    max: 4_294_967_296,
    help: "Memory limit of a config's plugin instance.",
  },
  sandboxProcessBytesMax: {
    env: 'MILLRACE_SANDBOX_PROCESS_BYTES_MAX',
    type: 'integer',
    default: 1_610_612_736,
    min: 268_435_456,
    max: 1_099_511_627_776,
    help: 'Memory limit of a plugin process. Beyond it, the process is restarted.',
  },
  sandboxCpuMs: {
    env: 'MILLRACE_SANDBOX_CPU_MS',
    type: 'integer',
    default: 250,
    min: 10,
    max: 60_000,
    help: "Limit of a plugin's computing time for one event.",
  },
  sandboxWaitMs: {
    env: 'MILLRACE_SANDBOX_WAIT_MS',
    type: 'integer',
    default: 10_000,
    min: 100,
    max: 600_000,
    help: 'Time limit of a plugin for one event, including waiting.',
  },
  sandboxTaskMs: {
    env: 'MILLRACE_SANDBOX_TASK_MS',
    type: 'integer',
    default: 60_000,
    min: 1000,
    max: 3_600_000,
    help: "Time limit of a plugin's job, schedule, setup or export, including waiting.",
  },
  sandboxInstancesMax: {
    env: 'MILLRACE_SANDBOX_INSTANCES_MAX',
    type: 'integer',
    default: 256,
    min: 1,
    max: 10_000,
    help: 'Maximum number of plugin instances per process. The longest idle ones are unloaded first.',
  },
  sandboxIdleMs: {
    env: 'MILLRACE_SANDBOX_IDLE_MS',
    type: 'integer',
    default: 600_000,
    min: 1000,
    max: 86_400_000,
    help: 'Idle time after which a plugin is unloaded, until it is needed again.',
  },
  pluginLogDays: {
    env: 'MILLRACE_PLUGIN_LOG_DAYS',
    type: 'integer',
    default: 7,
    min: 1,
    max: 365,
    help: 'Days that plugin logs and errors are kept.',
  },
  deadLetterDays: {
    env: 'MILLRACE_DEAD_LETTER_DAYS',
    type: 'integer',
    default: 365,
    min: 0,
    max: 3650,
    help: 'Days that dead letters are kept, whether open or decided, and their replays. 0 keeps them until their project is deleted.',
  },
  countDays: {
    env: 'MILLRACE_COUNT_DAYS',
    type: 'integer',
    default: 400,
    min: 31,
    max: 3650,
    help: 'Days that hourly counts are kept: ingestion warnings, and the metrics of plugin configs.',
  },
  activityDays: {
    env: 'MILLRACE_ACTIVITY_DAYS',
    type: 'integer',
    default: 0,
    min: 0,
    max: 36_500,
    help: 'Days that entries of the activity log are kept, and in any case the newest older one of each item. 0 keeps all.',
  },
  retentionHour: {
    env: 'MILLRACE_RETENTION_HOUR',
    type: 'integer',
    default: 3,
    min: 0,
    max: 23,
    help: 'Hour of the day (UTC) from which events are removed that are older than their project keeps them.',
  },
  ...importSettings,
  ...exportSettings,
  failAt: {
    env: 'MILLRACE_FAIL_AT',
    type: 'string',
    default: '',
    help: 'For tests: name of a failpoint at which the process kills itself or loops. Requires MILLRACE_ALLOW_FAILPOINTS=true.',
  },
  allowFailpoints: {
    env: 'MILLRACE_ALLOW_FAILPOINTS',
    type: 'boolean',
    default: false,
    help: 'For tests: enables MILLRACE_FAIL_AT and MILLRACE_SLOT_FENCE. Never use it in production.',
  },
  slotFence: {
    env: 'MILLRACE_SLOT_FENCE',
    type: 'boolean',
    default: true,
    help:
      'For tests: false lets a process write after losing its slot of the event log, to prove the fence. Requires ' +
      'MILLRACE_ALLOW_FAILPOINTS=true.',
  },
} as const satisfies Record<string, SettingDefinition>;

export interface SettingDefinition {
  readonly env: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'choice' | 'list';
  readonly default: string | number | boolean | readonly string[];
  readonly help: string;
  readonly choices?: readonly string[];
  /** Former choices of a list and their replacements. */
  readonly renamed?: Readonly<Record<string, readonly string[]>>;
  readonly min?: number;
  readonly max?: number;
  readonly secret?: boolean;
}

type Definitions = typeof settingDefinitions;
export type SettingName = keyof Definitions;
type ValueOf<D> = D extends { type: 'integer' }
  ? number
  : D extends { type: 'boolean' }
    ? boolean
    : D extends { type: 'choice'; choices: readonly (infer C)[] }
      ? C
      : D extends { type: 'list'; choices: readonly (infer C)[] }
        ? readonly C[]
        : string;
export type Settings = { readonly [N in SettingName]: ValueOf<Definitions[N]> };
