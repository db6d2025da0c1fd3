import { describe, expect, it } from 'vitest';
import { isCluster } from '../config/event-log-kind.ts';
import { rolesProblem, storesProblem } from './roles.ts';

const alone = { eventLog: 'auto', kafkaBrokers: '', databaseUrl: '', clickhouseUrl: '', importStaging: '' } as const;
const together = {
  eventLog: 'auto',
  kafkaBrokers: 'kafka:9092',
  databaseUrl: 'postgres://db/millrace',
  clickhouseUrl: 'http://clickhouse:8123/millrace',
  importStaging: 's3://bucket/staging',
} as const;
const every = ['capture', 'pipeline', 'api', 'jobs'] as const;

describe('which roles a process may have', () => {
  it('all roles together need no shared stores', () => {
    expect(rolesProblem({ ...alone, roles: every })).toBeUndefined();
    expect(rolesProblem({ ...alone, databaseUrl: 'postgres://db', roles: every })).toBeUndefined();
    expect([isCluster(alone), isCluster(together)]).toEqual([false, true]);
  });

  it('a split is refused in one sentence that names everything that is missing', () => {
    expect(rolesProblem({ ...alone, roles: ['capture'] })).toBe(
      'expected, for the roles capture alone, stores that several processes share, got no KAFKA_BROKERS ' +
        '(or MILLRACE_EVENT_LOG=postgres), no DATABASE_URL, no CLICKHOUSE_URL; set them, or remove --roles / MILLRACE_ROLES to run all of them in one process.',
    );
    expect(rolesProblem({ ...together, databaseUrl: '', roles: ['pipeline', 'capture'] })).toContain(
      'got no DATABASE_URL;',
    );
  });

  it('api and jobs need a bucket, capture and pipeline none', () => {
    const without = { ...together, importStaging: '/var/staging' };
    expect(rolesProblem({ ...without, roles: ['api'] })).toContain('no MILLRACE_IMPORT_STAGING at a bucket');
    expect(rolesProblem({ ...without, roles: ['jobs', 'pipeline'] })).toContain(
      'no MILLRACE_IMPORT_STAGING at a bucket',
    );
    expect(rolesProblem({ ...without, importStaging: '', roles: ['capture', 'pipeline'] })).toBeUndefined();
    expect(rolesProblem({ ...together, roles: ['jobs'] })).toBeUndefined();
  });

  it('KAFKA_BROKERS makes a cluster even of one process, with the requirements of a cluster', () => {
    expect(rolesProblem({ ...alone, kafkaBrokers: 'k:9092', roles: every })).toMatch(
      /no DATABASE_URL.* remove KAFKA_BROKERS/,
    );
    expect(rolesProblem({ ...together, roles: every })).toBeUndefined();
  });
});

describe('the event log in PostgreSQL', () => {
  const postgres = { ...together, eventLog: 'postgres', kafkaBrokers: '' } as const;

  it('makes a cluster without Kafka, with the requirements of a cluster', () => {
    expect(isCluster(postgres)).toBe(true);
    expect(rolesProblem({ ...postgres, roles: ['capture'] })).toBeUndefined();
    expect(rolesProblem({ ...postgres, roles: every })).toBeUndefined();
    expect(rolesProblem({ ...postgres, clickhouseUrl: '', roles: every })).toMatch(
      /^expected, for MILLRACE_EVENT_LOG=postgres, .* no CLICKHOUSE_URL; .* remove MILLRACE_EVENT_LOG=postgres/,
    );
  });

  it('beside Kafka it is refused', () => {
    expect(rolesProblem({ ...postgres, kafkaBrokers: 'k:9092', roles: every })).toContain('remove one of them');
  });
});

describe('storesProblem', () => {
  const none = { clickhouseUrl: '', clickhouseCluster: '', clickhouseReplicas: '' };

  it('a cluster needs the address of a server, and replicas need a cluster', () => {
    expect(storesProblem(none)).toBeUndefined();
    expect(storesProblem({ ...none, clickhouseUrl: 'http://ch:8123/db' })).toBeUndefined();
    expect(storesProblem({ ...none, clickhouseUrl: 'http://ch:8123/db', clickhouseCluster: 'main' })).toBeUndefined();
    expect(storesProblem({ ...none, clickhouseCluster: 'main' })).toMatch(
      /^expected CLICKHOUSE_URL .*got none; set it/,
    );
    expect(storesProblem({ ...none, clickhouseReplicas: 'a,b' })).toMatch(
      /^expected MILLRACE_CLICKHOUSE_CLUSTER beside/,
    );
  });
});
