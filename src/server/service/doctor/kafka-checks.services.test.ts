import { randomUUID } from 'node:crypto';
import { Admin } from '@platformatic/kafka';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { kafkaBrokers, kafkaTls, kafkaTokenBrokers } from '../../../../test/support/kafka-servers.ts';
import { startTokenEndpoint } from '../../../../test/support/kafka-tokens.ts';
import { useDatabase } from '../../../../test/support/postgres-database.ts';
import { record } from '../../../../test/conformance/event-log/event-log.ts';
import { migrate } from '../../../stores/metadata/migrate.ts';
import { createSlots } from '../../../stores/metadata/slot-leases.ts';
import { inspectKafkaLog, openEventLogReaders, openSharedLog, type SharedLogWriter } from '../stores.ts';
import { loadSettings } from '../../config/load.ts';
import { diagnose } from './doctor.fixture.ts';
import { kafkaPart } from './kafka-checks.ts';

const isHere = kafkaBrokers !== '' && process.env['DATABASE_URL'] !== undefined;

describe.skipIf(!isHere)('checks of Kafka', () => {
  const database = useDatabase(process.env['DATABASE_URL'] ?? 'postgres://127.0.0.1/none');
  const prefix = `doctor-${randomUUID()}`;
  let env: Readonly<Record<string, string>>;
  let admin: Admin;

  beforeAll(async () => {
    await migrate(database.db, 'postgres');
    await createSlots(database.db, 3);
    admin = new Admin({ clientId: 'millrace-test', bootstrapBrokers: [kafkaBrokers] });
    env = {
      KAFKA_BROKERS: kafkaBrokers,
      DATABASE_URL: database.url,
      MILLRACE_KAFKA_TOPIC_PREFIX: prefix,
      MILLRACE_KAFKA_REPLICATION: '1',
      MILLRACE_KAFKA_MIN_INSYNC: '1',
      MILLRACE_SLOTS: '3',
      MILLRACE_KAFKA_GROUP: 'none',
    };
    await (await openWriter()).close();
  });
  afterAll(async () => {
    if (admin === undefined) return;
    await admin.deleteTopics({ topics: [`${prefix}.live`, `${prefix}.historical`] });
    await admin.close();
  });

  const openWriter = async (): Promise<SharedLogWriter> => {
    const cursors = async () => ({ live: new Map(), historical: new Map() });
    return await openSharedLog(loadSettings({ env }).settings, { cursors });
  };
  const found = async (more: Readonly<Record<string, string>> = {}) =>
    (await diagnose({ ...env, ...more }, [kafkaPart])).faults();

  it('find nothing on right topics, nor before there are any, and create none', async () => {
    expect(await found()).toEqual([]);
    const none = `none-${randomUUID()}`;
    expect(await found({ MILLRACE_KAFKA_TOPIC_PREFIX: none })).toEqual([]);
    expect((await admin.listTopics()).filter((name) => name.startsWith(none))).toEqual([]);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ['kafka_reachable', { KAFKA_BROKERS: '127.0.0.1:9' }, /ECONNREFUSED/],
    ['kafka_brokers', { MILLRACE_KAFKA_REPLICATION: '3' }, /expected 3 brokers .*, got 1/],
    ['kafka_replication', { MILLRACE_KAFKA_REPLICATION: '3' }, /has 1 replicas/],
    ['kafka_partitions', { MILLRACE_SLOTS: '64' }, /has 3 partitions, MILLRACE_SLOTS is 64/],
    [
      'kafka_min_insync',
      { MILLRACE_KAFKA_REPLICATION: '3', MILLRACE_KAFKA_MIN_INSYNC: '2' },
      /min\.insync\.replicas=1/,
    ],
    ['kafka_message_bytes', { MILLRACE_CAPTURE_BODY_BYTES_MAX: '30000000' }, /max\.message\.bytes=\d+, less than/],
  ])('%s is found in %o', async (code, more, detail) => {
    const fault = (await found(more)).find((each) => each.code === code);
    expect(fault).toMatchObject({ state: 'failed', detail: expect.stringMatching(detail) });
  });

  it.each<[string, string, string]>([
    ['kafka_retention', 'retention.ms', '604800000'],
    ['kafka_retention', 'retention.bytes', '1000000'],
    ['kafka_cleanup_policy', 'cleanup.policy', 'compact'],
    ['kafka_unclean_election', 'unclean.leader.election.enable', 'true'],
  ])('%s is found in a topic with %s=%s', async (code, name, value) => {
    const resourceName = `${prefix}.historical`;
    const change = async (to: string): Promise<void> => {
      const configs = [{ name, value: to, configOperation: 0 as const }];
      await admin.incrementalAlterConfigs({
        resources: [{ resourceType: 2, resourceName, configs }],
        validateOnly: false,
      });
    };
    const { settings } = loadSettings({ env });
    const before = await inspectKafkaLog(settings);
    const earlier = before.topics[1]?.settings;
    await before[Symbol.asyncDispose]();
    await change(value);
    await expect
      .poll(() => found())
      .toMatchObject([
        {
          code,
          state: 'failed',
          detail: expect.stringContaining(`${name}=${value}`),
          advice: expect.stringContaining(name.split('.')[0] ?? ''),
        },
      ]);
    await change((typeof earlier === 'object' && earlier.get(name)) || '');
    await expect.poll(() => found()).toEqual([]);
  });

  it('a topic that is missing is found', async () => {
    const topicPrefix = `half-${randomUUID()}`;
    await admin.createTopics({ topics: [`${topicPrefix}.live`], partitions: 3, replicas: 1 });
    const faults = await found({ MILLRACE_KAFKA_TOPIC_PREFIX: topicPrefix });
    expect(faults).toContainEqual(
      expect.objectContaining({ code: 'kafka_topics', detail: `the topic "${topicPrefix}.historical" does not exist` }),
    );
    await admin.deleteTopics({ topics: [`${topicPrefix}.live`] });
  });

  it('topics of another installation and records that are gone are found', async () => {
    const { db } = database;
    await db.updateTable('slots').set({ log: 'another-1' }).where('slot', '=', 1).execute();
    expect(await found()).toMatchObject([
      { code: 'log_identity', detail: 'slots 1 of the database belong to other topics' },
    ]);
    const inspection = await inspectKafkaLog(loadSettings({ env }).settings);
    await db
      .updateTable('slots')
      .set({ log: inspection.logId(1) ?? null })
      .where('slot', '=', 1)
      .execute();
    await inspection[Symbol.asyncDispose]();
    expect(await found()).toEqual([]);
    await db.updateTable('log_cursors').set({ seq: 7 }).where('slot', '=', 2).where('lane', '=', 'live').execute();
    expect(await found()).toMatchObject([
      { code: 'log_cursors', detail: `"${prefix}.live" ends before the stored records: partitions 2` },
    ]);
    await db.updateTable('log_cursors').set({ seq: 0 }).execute();
    const writer = await openWriter();
    for (const text of ['a', 'b']) await writer.append('live', record(text), 0);
    const readers = await openEventLogReaders(loadSettings({ env }).settings, undefined, {});
    const reader = readers.reader(0);
    reader.commit('live', 2);
    await expect
      .poll(() => found())
      .toMatchObject([
        {
          code: 'log_cursors',
          detail: `"${prefix}.live" lacks records that are not stored: partitions 0`,
        },
      ]);
    await reader.close();
    await readers.close();
    await writer.close();
    await db.updateTable('log_cursors').set({ seq: 2 }).where('slot', '=', 0).where('lane', '=', 'live').execute();
    expect(await found()).toEqual([]);
  });

  it('a wrong password, an untrusted certificate and TLS on the wrong port are found, without the password', async () => {
    const tls = {
      KAFKA_BROKERS: kafkaTls.brokers,
      MILLRACE_KAFKA_TLS_CA: kafkaTls.caFile,
      MILLRACE_KAFKA_USER: kafkaTls.user,
      MILLRACE_KAFKA_PASSWORD: kafkaTls.password,
    };
    expect(await found(tls)).toEqual([]);
    for (const [more, detail] of [
      [{ MILLRACE_KAFKA_PASSWORD: 'hunter2' }, /refuses the user/],
      [{ MILLRACE_KAFKA_TLS_CA: '' }, /untrusted certificate/],
      [{ MILLRACE_KAFKA_TLS: 'off' }, /did not answer as expected/],
    ] as const) {
      const { faults, findings } = await diagnose({ ...env, ...tls, ...more }, [kafkaPart]);
      expect(faults()).toMatchObject([
        { code: 'kafka_reachable', state: 'failed', detail: expect.stringMatching(detail) },
      ]);
      expect(JSON.stringify(findings)).not.toContain('hunter2');
    }
  });

  afterEach(() => vi.unstubAllEnvs());

  it('wrong secrets, expired tokens, no AWS credentials and a missing region are found, without the secrets', async () => {
    await using endpoint = await startTokenEndpoint('client"ü', 'hunter2:/+"ü');
    const tokens = {
      KAFKA_BROKERS: kafkaTokenBrokers,
      MILLRACE_KAFKA_TLS: 'off',
      MILLRACE_KAFKA_SASL: 'OAUTHBEARER',
      MILLRACE_KAFKA_USER: 'client"ü',
      MILLRACE_KAFKA_PASSWORD: 'hunter2:/+"ü',
      MILLRACE_KAFKA_OAUTH_TOKEN_URL: endpoint.url,
    };
    const msk = {
      ...tokens,
      MILLRACE_KAFKA_SASL: 'AWS_MSK_IAM',
      MILLRACE_KAFKA_USER: '',
      MILLRACE_KAFKA_OAUTH_TOKEN_URL: '',
      MILLRACE_KAFKA_AWS_REGION: 'eu-west-1',
    };
    for (const name of Object.keys(process.env).filter((each) => each.startsWith('AWS_'))) vi.stubEnv(name, undefined);
    for (const name of ['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE']) vi.stubEnv(name, '/nowhere');
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
    expect(await found(tokens)).toEqual([]);
    const isFound = async (more: Readonly<Record<string, string>>, detail: RegExp): Promise<void> => {
      const { faults, findings } = await diagnose({ ...env, ...more }, [kafkaPart]);
      expect(faults()).toMatchObject([
        { code: 'kafka_reachable', state: 'failed', detail: expect.stringMatching(detail) },
      ]);
      expect(JSON.stringify(findings)).not.toMatch(/hunter2|AKIA|eyJ/);
    };
    await isFound({ ...tokens, MILLRACE_KAFKA_PASSWORD: 'hunter2' }, /\(invalid_client\): check MILLRACE_KAFKA_USER/);
    await isFound({ ...tokens, MILLRACE_KAFKA_OAUTH_TOKEN_URL: 'http://127.0.0.1:9/' }, /no token from .*ECONNREFUSED/);
    await isFound({ ...msk, MILLRACE_KAFKA_AWS_REGION: '' }, /expected MILLRACE_KAFKA_AWS_REGION to be the region/);
    await isFound(msk, /expected AWS credentials .*, got none/);
    endpoint.lifeSeconds = -30;
    await isFound(tokens, /refuses the token \(invalid_token\)/);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIA');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'hunter2');
    await isFound(msk, /refuses the token \(invalid_token\)/);
  });

  it('a zone without brokers, and brokers that permit no reading from replicas, are found', async () => {
    expect(await found({ MILLRACE_KAFKA_RACK: 'zone "ü"' })).toMatchObject([
      {
        code: 'kafka_rack',
        state: 'warning',
        detail: 'expected a broker in the zone "zone "ü"", got brokers without one',
      },
    ]);
    const inspection = await inspectKafkaLog(loadSettings({ env }).settings);
    expect(await inspection.replicaSelector()).toBe('');
    await inspection[Symbol.asyncDispose]();
    const findWith = async (selector: string | number) => {
      const subject = { racks: ['a', 'b'], replicaSelector: async () => selector, settings: { kafkaRack: 'b' } };
      return await kafkaPart.checks['kafka_rack']?.find(subject as never);
    };
    expect(await findWith('')).toEqual(['the brokers have no replica.selector.class']);
    expect(await findWith('org.apache.kafka.common.replica.RackAwareReplicaSelector')).toBe('b');
    expect(await findWith(29)).toMatch(/cannot be read/);
  });

  it('partitions without a leader or with few replicas in sync, and settings that cannot be read, are found', () => {
    const partition = (partitionIndex: number, leaderId: number, isrNodes: number[]) => ({
      partitionIndex,
      leaderId,
      isrNodes,
      replicaNodes: [1, 2, 3],
    });
    const topic = { partitions: [partition(0, 1, [1, 2, 3]), partition(1, 1, [1, 2]), partition(2, -1, [])] };
    const faults = [{ kind: 'unreadable', sentence: 'the settings cannot be read' }];
    const subject = {
      topics: [{ name: 'm.live', topic, settings: 29 }],
      faults,
      settings: { kafkaMinInsync: 2 },
    } as never;
    expect(kafkaPart.checks['kafka_leaders']?.find(subject)).toEqual(['"m.live" has partitions without a leader: 2']);
    expect(kafkaPart.checks['kafka_in_sync']?.find(subject)).toEqual([
      { detail: '"m.live" has partitions with fewer replicas in sync than required: 2', severity: 'failed' },
      '"m.live" has partitions with a replica that is not in sync: 1',
    ]);
    expect(kafkaPart.checks['kafka_rights']?.find(subject)).toEqual(['the settings cannot be read']);
  });

  it('records deleted before their time, and a group without the offsets of what is stored, are found', async () => {
    const { db } = database;
    const topicPrefix = `kept-${randomUUID()}`;
    const own = {
      MILLRACE_KAFKA_TOPIC_PREFIX: topicPrefix,
      MILLRACE_KAFKA_GROUP: '"groupe" ü',
      MILLRACE_EVENT_LOG_RETENTION_HOURS: '24',
    };
    const { settings } = loadSettings({ env: { ...env, ...own } });
    const writer = await openSharedLog(settings, { cursors: async () => ({ live: new Map(), historical: new Map() }) });
    for (const text of ['a', 'b', 'c']) await writer.append('live', record(text), 1);
    await db.updateTable('slots').set({ log: null }).execute();
    await db.updateTable('log_cursors').set({ seq: 0 }).execute();
    const setCursor = (seq: number) =>
      db.updateTable('log_cursors').set({ seq }).where('slot', '=', 1).where('lane', '=', 'live').execute();
    await setCursor(3);
    await db
      .insertInto('log_marks')
      .values([1, 3].map((seq) => ({ slot: 1, lane: 'live', seq, stored_at: Date.now() - (4 - seq) * 10 * 3_600_000 })))
      .execute();
    expect(await found({ ...own, MILLRACE_KAFKA_GROUP: 'none' })).toEqual([]);
    expect(await found(own)).toMatchObject([
      {
        code: 'kafka_group',
        state: 'warning',
        detail: expect.stringContaining('the group ""groupe" ü" has no offset'),
      },
    ]);
    const readers = await openEventLogReaders(settings, undefined, { expired: async (places) => places });
    const reader = readers.reader(1);
    reader.commit('live', 1);
    // The offsets are committed every 5 seconds.
    await expect.poll(() => found(own), { timeout: 30_000, interval: 200 }).toEqual([]);
    reader.commit('live', 2);
    await readers.close();
    await admin.deleteRecords({
      topics: [{ name: `${topicPrefix}.live`, partitions: [{ partition: 1, offset: 2n }] }],
    });
    expect(await found(own)).toMatchObject([
      {
        code: 'log_retention',
        state: 'warning',
        detail: `"${topicPrefix}.live" lacks records that were stored less than 24 hours ago: partitions 1`,
      },
    ]);
    await writer.close();
    await setCursor(0);
    await db.deleteFrom('log_marks').execute();
    await admin.deleteTopics({ topics: [`${topicPrefix}.live`, `${topicPrefix}.historical`] });
  });
});
