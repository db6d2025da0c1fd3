import { isCluster, type EventLogSettings } from '../config/event-log-kind.ts';
import { settingDefinitions, type Settings } from '../config/settings.ts';

/**
 * Roles of a process besides its stores; start.ts has one branch for each.
 * - capture: routes that receive events
 * - pipeline: log → rows, in a separate thread
 * - api: the management API, its description and the console
 * - jobs: imports, in a separate process; jobs and schedules of plugins; replays of dead letters
 */
export type Role = Settings['roles'][number];

type RoleSettings = EventLogSettings & Pick<Settings, 'roles' | 'databaseUrl' | 'clickhouseUrl' | 'importStaging'>;

/** Why these roles cannot run, or `undefined` if they can. */
export function rolesProblem(settings: RoleSettings): string | undefined {
  const { roles, kafkaBrokers, eventLog } = settings;
  if (eventLog === 'postgres' && kafkaBrokers !== '') {
    return 'expected one place for the event log, got KAFKA_BROKERS and MILLRACE_EVENT_LOG=postgres; remove one of them.';
  }
  const every = settingDefinitions.roles.choices;
  const isWhole = every.every((role) => roles.includes(role));
  if (isWhole && !isCluster(settings)) return undefined;
  const missing = missingStores(settings);
  if (missing.length === 0) return undefined;
  const log = eventLog === 'postgres' ? 'MILLRACE_EVENT_LOG=postgres' : 'KAFKA_BROKERS';
  const wanted = isWhole ? log : `the roles ${roles.join(', ')} alone`;
  const instead = isWhole
    ? `remove ${log} to run on files of this machine`
    : 'remove --roles / MILLRACE_ROLES to run all of them in one process';
  return `expected, for ${wanted}, stores that several processes share, got no ${missing.join(', no ')}; set them, or ${instead}.`;
}

/** Why these stores cannot be opened, or `undefined` if they can. */
export function storesProblem(settings: Pick<Settings, 'clickhouseUrl' | 'clickhouseCluster' | 'clickhouseReplicas'>) {
  if (settings.clickhouseUrl === '' && settings.clickhouseCluster !== '') {
    return (
      `expected CLICKHOUSE_URL to be a server of the cluster ${settings.clickhouseCluster} (MILLRACE_CLICKHOUSE_CLUSTER), ` +
      'got none; set it, or remove MILLRACE_CLICKHOUSE_CLUSTER to keep events on this machine'
    );
  }
  if (settings.clickhouseCluster === '' && settings.clickhouseReplicas !== '') {
    return 'expected MILLRACE_CLICKHOUSE_CLUSTER beside MILLRACE_CLICKHOUSE_REPLICAS, got none; name the cluster';
  }
  return undefined;
}

function missingStores(settings: RoleSettings): string[] {
  const { roles, databaseUrl, clickhouseUrl, importStaging } = settings;
  const needsBucket = roles.includes('api') || roles.includes('jobs');
  const bucket = 'MILLRACE_IMPORT_STAGING at a bucket (s3://bucket/prefix)';
  return [
    ...(isCluster(settings) ? [] : ['KAFKA_BROKERS (or MILLRACE_EVENT_LOG=postgres)']),
    ...(databaseUrl === '' ? ['DATABASE_URL'] : []),
    ...(clickhouseUrl === '' ? ['CLICKHOUSE_URL'] : []),
    ...(needsBucket && !importStaging.startsWith('s3://') ? [bucket] : []),
  ];
}
