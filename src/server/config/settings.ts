import { clickhouseClusterSettings } from './clickhouse-cluster-settings.ts';
import { importSettings } from './import-settings.ts';
import { noticeSettings } from './notice-settings.ts';
import { processingSettings } from './processing-settings.ts';

/**
 * Every setting, declared once. Types, validation, `--help`, `millrace config show` and docs/reference/settings.md follow
 * from this table. Precedence: flag > environment > file > default. Every secret can also come as `NAME_FILE`.
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
  dataDir: { env: 'MILLRACE_DATA_DIR', type: 'string', default: './data', help: 'Directory of the embedded stores.' },
  siteUrl: {
    env: 'MILLRACE_SITE_URL',
    type: 'string',
    default: '',
    help: 'Public address of this service, for links. Empty: http://HOST:PORT.',
  },
  allowedHosts: {
    env: 'MILLRACE_ALLOWED_HOSTS',
    type: 'string',
    default: '',
    help: 'Hosts, comma-separated, that API and pages answer under besides the one of MILLRACE_SITE_URL, loopback and MILLRACE_HOST; `*` for any. Capture answers under every name.',
  },
  roles: {
    env: 'MILLRACE_ROLES',
    type: 'list',
    default: ['capture', 'pipeline', 'api', 'jobs'],
    choices: ['capture', 'pipeline', 'api', 'jobs'],
    renamed: { worker: ['pipeline', 'jobs'] },
    help:
      'What this process does. Fewer than all of them need stores that processes share: KAFKA_BROKERS, DATABASE_URL, ' +
      'CLICKHOUSE_URL and, for api and jobs, a bucket in MILLRACE_IMPORT_STAGING.',
  },
  databaseUrl: {
    env: 'DATABASE_URL',
    type: 'string',
    default: '',
    secret: true,
    help: 'PostgreSQL for the metadata. Empty: SQLite in the data directory.',
  },
  databaseConnections: {
    env: 'MILLRACE_DATABASE_CONNECTIONS',
    type: 'integer',
    default: 20,
    min: 4,
    max: 1000,
    help: 'Connections to PostgreSQL that this process may hold, its threads together.',
  },
  clickhouseUrl: {
    env: 'CLICKHOUSE_URL',
    type: 'string',
    default: '',
    secret: true,
    help: 'ClickHouse server for events (http://user:password@host:8123/database). Empty: embedded chDB.',
  },
  kafkaBrokers: {
    env: 'KAFKA_BROKERS',
    type: 'string',
    default: '',
    help: 'Kafka for the event log: host:port, comma-separated. Empty: files in the data directory, for one process.',
  },
  ...clickhouseClusterSettings,
  bootstrapPersonalApiKey: {
    env: 'MILLRACE_BOOTSTRAP_PERSONAL_API_KEY',
    type: 'string',
    default: '',
    secret: true,
    help: 'Personal API key (phx_…) with all scopes to make on first start.',
  },
  bootstrapProjectApiKey: {
    env: 'MILLRACE_BOOTSTRAP_PROJECT_API_KEY',
    type: 'string',
    default: '',
    secret: true,
    help: 'Project key (phc_…) of the first project, instead of a random one.',
  },
  historicalAgreement: {
    env: 'MILLRACE_HISTORICAL_AGREEMENT',
    type: 'choice',
    default: 'optional',
    choices: ['optional', 'required'],
    help: 'Whether historical batches above 10,000 events/min or 20 million in all need an approved agreement.',
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
    help: 'Time after SIGTERM in which requests are still taken while /readyz answers 503, so that load balancers look elsewhere.',
  },
  logLevel: {
    env: 'MILLRACE_LOG_LEVEL',
    type: 'choice',
    default: 'info',
    choices: ['debug', 'info', 'warn', 'error', 'silent'],
    help: 'How much to log.',
  },
  trustProxy: {
    env: 'MILLRACE_TRUST_PROXY',
    type: 'boolean',
    default: false,
    help: 'Take the sender address from X-Forwarded-For: the last one in it that is not of a private network.',
  },
  captureBodyBytesMax: {
    env: 'MILLRACE_CAPTURE_BODY_BYTES_MAX',
    type: 'integer',
    default: 20_971_520,
    min: 1024,
    max: 268_435_456,
    help: 'Largest capture body as received, in bytes.',
  },
  captureInflatedBytesMax: {
    env: 'MILLRACE_CAPTURE_INFLATED_BYTES_MAX',
    type: 'integer',
    default: 104_857_600,
    min: 1024,
    max: 1_073_741_824,
    help: 'Largest capture body after decompression, in bytes.',
  },
  captureEventBytesMax: {
    env: 'MILLRACE_CAPTURE_EVENT_BYTES_MAX',
    type: 'integer',
    default: 1_000_000,
    min: 1024,
    max: 20_971_520,
    help: 'Largest single event, in bytes of JSON.',
  },
  captureBodyTimeoutMs: {
    env: 'MILLRACE_CAPTURE_BODY_TIMEOUT_MS',
    type: 'integer',
    default: 30_000,
    min: 100,
    max: 600_000,
    help: 'Time for a whole body to arrive; half of it without a byte ends the request too.',
  },
  backlogEventsMax: {
    env: 'MILLRACE_BACKLOG_EVENTS_MAX',
    type: 'integer',
    default: 5_000_000,
    min: 1000,
    max: 10_000_000_000,
    help: 'Events that may wait per lane before capture answers 503; of one project four times as many as there is still room for.',
  },
  backlogBytesMax: {
    env: 'MILLRACE_BACKLOG_BYTES_MAX',
    type: 'integer',
    default: 10_737_418_240,
    min: 1_048_576,
    max: 1_099_511_627_776,
    help: 'Body bytes that may wait per lane before capture answers 503; of one project four times as many as there is still room for.',
  },
  ...processingSettings,
  slots: {
    env: 'MILLRACE_SLOTS',
    type: 'integer',
    default: 64,
    min: 1,
    max: 4096,
    help: 'With KAFKA_BROKERS: pieces that the projects are shared out in, one partition each. Fixed once the topics are made.',
  },
  kafkaTopicPrefix: {
    env: 'MILLRACE_KAFKA_TOPIC_PREFIX',
    type: 'string',
    default: 'millrace',
    help: 'Beginning of the names of the two topics of the event log: PREFIX.live and PREFIX.historical.',
  },
  kafkaReplication: {
    env: 'MILLRACE_KAFKA_REPLICATION',
    type: 'integer',
    default: 3,
    min: 1,
    max: 100,
    help: 'Brokers that hold each record. Topics that are there with fewer are refused.',
  },
  kafkaMinInsync: {
    env: 'MILLRACE_KAFKA_MIN_INSYNC',
    type: 'integer',
    default: 2,
    min: 1,
    max: 100,
    help: 'Brokers that must have a record before a batch is answered with 200. Topics that ask for fewer are refused.',
  },
  kafkaTls: {
    env: 'MILLRACE_KAFKA_TLS',
    type: 'choice',
    default: 'auto',
    choices: ['auto', 'verify', 'no verify', 'off'],
    help: '`auto`: as `verify` with a user, an authority or a certificate, else `off`. `no verify` encrypts without a look at the certificate.',
  },
  kafkaTlsCa: {
    env: 'MILLRACE_KAFKA_TLS_CA',
    type: 'string',
    default: '',
    help: 'File with the authority (PEM) that signed the certificates of the brokers. Empty: the usual ones.',
  },
  kafkaTlsCertificate: {
    env: 'MILLRACE_KAFKA_TLS_CERTIFICATE',
    type: 'string',
    default: '',
    help: 'File with the certificate (PEM) to show, where brokers ask for one; with MILLRACE_KAFKA_TLS_KEY.',
  },
  kafkaTlsKey: {
    env: 'MILLRACE_KAFKA_TLS_KEY',
    type: 'string',
    default: '',
    help: 'File with the key (PEM) of MILLRACE_KAFKA_TLS_CERTIFICATE.',
  },
  kafkaUser: {
    env: 'MILLRACE_KAFKA_USER',
    type: 'string',
    default: '',
    help: 'User at the brokers (SASL). Empty: nobody logs in.',
  },
  kafkaPassword: {
    env: 'MILLRACE_KAFKA_PASSWORD',
    type: 'string',
    default: '',
    secret: true,
    help: 'Password of MILLRACE_KAFKA_USER.',
  },
  kafkaSasl: {
    env: 'MILLRACE_KAFKA_SASL',
    type: 'choice',
    default: 'SCRAM-SHA-512',
    choices: ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'],
    help: 'How MILLRACE_KAFKA_USER logs in.',
  },
  geoipDatabase: {
    env: 'MILLRACE_GEOIP_DATABASE',
    type: 'string',
    default: '',
    help: 'MaxMind City database (.mmdb) for the GeoIP transformation and for plugins. Read again when the file changes.',
  },
  outboundAllow: {
    env: 'MILLRACE_OUTBOUND_ALLOW',
    type: 'string',
    default: '',
    help: 'Private addresses that plugins and installations may reach: hosts, host:port or CIDR ranges, comma-separated.',
  },
  outboundCa: {
    env: 'MILLRACE_OUTBOUND_CA',
    type: 'string',
    default: '',
    help: 'File with certificates (PEM) to trust besides the usual ones in requests of plugins and installations.',
  },
  outboundTimeoutMs: {
    env: 'MILLRACE_OUTBOUND_TIMEOUT_MS',
    type: 'integer',
    default: 10_000,
    min: 100,
    max: 120_000,
    help: "Longest time of one request of a plugin's.",
  },
  outboundBytesMax: {
    env: 'MILLRACE_OUTBOUND_BYTES_MAX',
    type: 'integer',
    default: 20_971_520,
    min: 1024,
    max: 1_073_741_824,
    help: "Largest answer to a request of a plugin's, in bytes.",
  },
  ...noticeSettings,
  npmRegistry: {
    env: 'MILLRACE_NPM_REGISTRY',
    type: 'string',
    default: '',
    help: 'npm registry that plugins are installed from; empty: the one that npm is configured with.',
  },
  sandboxMemoryBytesMax: {
    env: 'MILLRACE_SANDBOX_MEMORY_BYTES_MAX',
    type: 'integer',
    default: 134_217_728,
    min: 16_777_216,
    max: 4_294_967_296,
    help: "Memory of one config's plugin.",
  },
  sandboxProcessBytesMax: {
    env: 'MILLRACE_SANDBOX_PROCESS_BYTES_MAX',
    type: 'integer',
    default: 1_610_612_736,
    min: 268_435_456,
    max: 1_099_511_627_776,
    help: 'Memory of one process of plugins; beyond it the process is ended and made anew.',
  },
  sandboxCpuMs: {
    env: 'MILLRACE_SANDBOX_CPU_MS',
    type: 'integer',
    default: 250,
    min: 10,
    max: 60_000,
    help: 'Longest time that a plugin may compute on one event without waiting.',
  },
  sandboxWaitMs: {
    env: 'MILLRACE_SANDBOX_WAIT_MS',
    type: 'integer',
    default: 10_000,
    min: 100,
    max: 600_000,
    help: 'Longest time that a plugin may take for one event, waiting included.',
  },
  sandboxTaskMs: {
    env: 'MILLRACE_SANDBOX_TASK_MS',
    type: 'integer',
    default: 60_000,
    min: 1000,
    max: 3_600_000,
    help: "Longest time of one run of a plugin's job, schedule, setup or export, waiting included.",
  },
  sandboxInstancesMax: {
    env: 'MILLRACE_SANDBOX_INSTANCES_MAX',
    type: 'integer',
    default: 256,
    min: 1,
    max: 10_000,
    help: 'Plugins kept in memory at once per process; those idle longest make room.',
  },
  sandboxIdleMs: {
    env: 'MILLRACE_SANDBOX_IDLE_MS',
    type: 'integer',
    default: 600_000,
    min: 1000,
    max: 86_400_000,
    help: 'Time without work after which a plugin leaves the memory; it comes back when there is some.',
  },
  pluginLogDays: {
    env: 'MILLRACE_PLUGIN_LOG_DAYS',
    type: 'integer',
    default: 7,
    min: 1,
    max: 365,
    help: 'Days that logs and errors of plugins are kept.',
  },
  ...importSettings,
  failAt: {
    env: 'MILLRACE_FAIL_AT',
    type: 'string',
    default: '',
    help: 'For tests: name of a failpoint at which the process kills itself, or loops. Needs MILLRACE_ALLOW_FAILPOINTS=true.',
  },
  allowFailpoints: {
    env: 'MILLRACE_ALLOW_FAILPOINTS',
    type: 'boolean',
    default: false,
    help: 'For tests: arm MILLRACE_FAIL_AT and obey MILLRACE_SLOT_FENCE. Never in production.',
  },
  slotFence: {
    env: 'MILLRACE_SLOT_FENCE',
    type: 'boolean',
    default: true,
    help:
      'For tests: false lets a process write that has lost its slot of the event log, to show what is wrong then. Needs ' +
      'MILLRACE_ALLOW_FAILPOINTS=true.',
  },
} as const satisfies Record<string, SettingDefinition>;

export interface SettingDefinition {
  readonly env: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'choice' | 'list';
  readonly default: string | number | boolean | readonly string[];
  readonly help: string;
  readonly choices?: readonly string[];
  /** Of a list: what used to be a choice, and what stands for it now. */
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
