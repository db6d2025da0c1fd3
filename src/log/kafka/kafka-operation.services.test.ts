import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { Admin, Producer } from '@platformatic/kafka';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  kafkaAccess,
  parseBroker,
  passwordLogin,
  type SaslMechanism,
  type TlsChoice,
} from '../kafka-connection/access.ts';
import { noLimits, record, texts } from '../../../test/conformance/event-log/event-log.ts';
import { LogUnavailableError, type EventLogReader, type EventLogWriter } from '../eventlog.ts';
import { topicName } from './cluster.ts';
import { inspectKafkaLog } from './inspect-log.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { createKafkaLog, testOptions, type TestKafkaLog } from './kafka-log.fixture.ts';
import { messageOf } from './record-form.ts';
import { openKafkaLogReaders } from './reader.ts';
import { openKafkaLogWriter } from './writer.ts';

const tlsBrokers = process.env.KAFKA_TLS_BROKERS ?? '';
const caFile = process.env.KAFKA_TLS_CA_FILE ?? '';
const noCursors = async () => ({ live: new Map<number, number>(), historical: new Map<number, number>() });

describe.skipIf(kafkaBrokers === '')('the event log on a broker', () => {
  let log: TestKafkaLog;
  let writer: EventLogWriter;
  let reader: EventLogReader;
  beforeEach(async () => {
    log = createKafkaLog({ slots: 1 });
    writer = await log.openWriter();
    reader = await log.openReader(0);
  });
  afterEach(async () => {
    await reader.close();
    await writer.close();
    await log.dispose();
  });

  async function withAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = new Admin({ clientId: 'millrace-test', bootstrapBrokers: [kafkaBrokers] });
    try {
      return await work(admin);
    } finally {
      await admin.close();
    }
  }

  it('foreign and altered messages are returned as damaged, and later ones are read', async () => {
    const producer = new Producer({ clientId: 'millrace-test', bootstrapBrokers: [kafkaBrokers] });
    const topic = topicName(log.options.topicPrefix, 'live');
    await writer.append('live', record('first'), 0);
    const { headers } = messageOf(record('as written'));
    const altered = { topic, partition: 0, value: Buffer.from('altered'), headers };
    await producer.send({ messages: [{ topic, partition: 0, value: Buffer.from('foreign') }, altered], acks: -1 });
    await producer.close();
    await writer.append('live', record('last'), 0);
    const found = await reader.read('live', 0, noLimits);
    expect(found).toMatchObject([
      { seq: 1, header: { requestId: 'first' } },
      { seq: 2, damaged: expect.stringContaining('a message without'), bytes: Buffer.from('foreign') },
      { seq: 3, damaged: expect.stringContaining('expected checksum'), bytes: Buffer.from('altered') },
      { seq: 4, header: { requestId: 'last' } },
    ]);
  });

  it('only committed records are deleted, and a reader behind a deletion reports it', async () => {
    for (const text of ['a', 'b', 'c']) await writer.append('live', record(text), 0);
    const said: string[] = [];
    const other = await log.openReader(0, { onProblem: (sentence) => said.push(sentence) });
    reader.commit('live', 2);
    await expect.poll(async () => (await other.read('live', 0, noLimits)).length).toBe(1);
    expect(texts(await other.read('live', 2, noLimits))).toEqual(['c']);
    expect(said[0]).toMatch(/begins at record 3, expected 1: .* deleted before they were processed; check retention/);
    await other.close();
  });

  it('a range that was read before never becomes shorter: a log that ends earlier is an error', async () => {
    const seq = await writer.append('live', record('a'), 0);
    await expect(reader.read('live', 0, { ...noLimits, lastSeq: seq + 1 })).rejects.toBeInstanceOf(LogUnavailableError);
    expect(texts(await reader.read('live', 0, { ...noLimits, lastSeq: seq }))).toEqual(['a']);
    await expect(reader.read('live', seq + 5, noLimits)).rejects.toThrow(
      /ends at 1, but 6 records of it are processed/,
    );
  });

  it('beyond the limit of bytes in flight appends are refused, not queued', async () => {
    const tight = await log.openWriter({ inFlightBytesMax: 1000 });
    const large = { ...record('large'), body: new Uint8Array(900) };
    const results = await Promise.allSettled([1, 2, 3].map(() => tight.append('live', large, 0)));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    await tight.append('live', large, 0);
    await tight.close();
  });

  it('a body larger than the topics accept is refused, and others are accepted', async () => {
    const body = new Uint8Array(log.options.bodyBytesMax + 1);
    await expect(writer.append('live', { ...record('huge'), body }, 0)).rejects.toBeInstanceOf(LogUnavailableError);
    await writer.append('live', record('small'), 0);
  });

  it('concurrent appends share a request', async () => {
    let answers = 0;
    const counted = await log.openWriter({}, { onAnswer: () => (answers += 1) });
    await Promise.all(Array.from({ length: 500 }, (_, n) => counted.append('live', record(String(n)), 0)));
    expect(answers).toBeLessThan(20);
    await counted.close();
  });

  it('a cursor beyond the end of the log refuses appends that would never be read', async () => {
    const said: string[] = [];
    const lost = await openKafkaLogWriter(log.options, {
      cursors: async () => ({ live: new Map([[0, 7]]), historical: new Map() }),
      onProblem: (sentence) => said.push(sentence),
    });
    await expect(lost.append('live', record('a'), 0)).rejects.toThrow(/ends at 0, but 7 records of it are processed/);
    await lost.append('historical', record('b'), 0);
    expect(said).toHaveLength(1);
    await lost.close();
  });

  it.each([
    [{ slots: 2 }, 'has 1 partitions, MILLRACE_SLOTS is 2'],
    [{ replication: 2 }, 'has 1 replicas, MILLRACE_KAFKA_REPLICATION is 2'],
    [{ minInsync: 2 }, 'has min.insync.replicas=1, MILLRACE_KAFKA_MIN_INSYNC is 2: set min.insync.replicas=2'],
    [{ bodyBytesMax: 30_000_000 }, 'has max.message.bytes=21037056, less than the largest body'],
  ])('unsuitable topics are refused with what to change: %o', async (more, sentence) => {
    const opening = openKafkaLogWriter({ ...log.options, ...more }, { cursors: noCursors });
    await expect(opening).rejects.toMatchObject({
      name: 'LogMisconfiguredError',
      message: expect.stringContaining(sentence),
    });
  });

  it.each([
    ['retention.ms', '604800000', 'which deletes unprocessed records: set retention.ms=-1'],
    ['cleanup.policy', 'compact', 'which deletes records: set cleanup.policy=delete'],
    ['unclean.leader.election.enable', 'true', 'which loses acknowledged records'],
  ])('a topic with %s=%s is refused', async (name, value, sentence) => {
    const resourceName = topicName(log.options.topicPrefix, 'historical');
    const configs = [{ name, value, configOperation: 0 as const }];
    await withAdmin((admin) =>
      admin.incrementalAlterConfigs({ resources: [{ resourceType: 2, resourceName, configs }], validateOnly: false }),
    );
    const open = (): Promise<string> =>
      openKafkaLogWriter(log.options, { cursors: noCursors }).then(
        async (opened) => (await opened.close(), 'opened'),
        (error: Error) => error.message,
      );
    await expect.poll(open).toContain(sentence);
  });

  it('topics with more partitions than slots are accepted, and what was added stays empty', async () => {
    await writer.append('live', record('before'), 0);
    const topics = (['live', 'historical'] as const).map((lane) => topicName(log.options.topicPrefix, lane));
    await withAdmin((admin) =>
      admin.createPartitions({
        topics: topics.map((name) => ({ name, count: 3, assignments: [{ brokerIds: [1] }, { brokerIds: [1] }] })),
        validateOnly: false,
      }),
    );
    const inspect = async () => {
      await using inspection = await inspectKafkaLog(log.options);
      return { faults: inspection.faults, live: (await inspection.ranges()).live };
    };
    await expect.poll(async () => (await inspect()).live.size).toBe(3);
    await writer.append('live', record('after'), 0);
    const later = await log.openWriter();
    await later.append('live', record('later'), 0).finally(() => later.close());
    expect(texts(await reader.read('live', 0, noLimits))).toEqual(['before', 'after', 'later']);
    const { faults, live } = await inspect();
    expect([faults, ...[0, 1, 2].map((slot) => live.get(slot)?.end)]).toEqual([[], 3, 0, 0]);
  });

  it('more replicas than brokers are refused with the setting to change', async () => {
    const opening = openKafkaLogWriter(testOptions({ replication: 3 }), { cursors: noCursors });
    await expect(opening).rejects.toThrow(/fewer than MILLRACE_KAFKA_REPLICATION=3 brokers/);
  });

  it('processes that create the topics concurrently all find them', async () => {
    const fresh = createKafkaLog({ slots: 4 });
    const writers = await Promise.all([1, 2, 3].map(() => fresh.openWriter()));
    const seqs = await Promise.all(writers.map((each, slot) => each.append('live', record('a'), slot)));
    expect(seqs).toEqual([1, 1, 1]);
    await Promise.all(writers.map((each) => each.close()));
    await fresh.dispose();
  });
});

describe.skipIf(tlsBrokers === '')('a broker that requires TLS and a user', () => {
  interface Access {
    readonly tls: TlsChoice;
    readonly ca: string;
    readonly password: string;
    readonly mechanism: SaslMechanism;
  }
  const optionsWith = async (more: Partial<Access>) => {
    const broker = parseBroker(tlsBrokers);
    if (broker === undefined) throw new Error('expected a broker');
    const { tls = 'auto', ca = await readFile(caFile, 'utf8'), mechanism = 'SCRAM-SHA-512' } = more;
    const sasl = passwordLogin(
      process.env.KAFKA_USER ?? '',
      more.password ?? process.env.KAFKA_PASSWORD ?? '',
      mechanism,
    );
    return testOptions({ brokers: [broker], access: kafkaAccess({ tls, ca, certificate: '', key: '', sasl }) });
  };

  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const)('%s: appends and reads', async (mechanism) => {
    const options = await optionsWith({ mechanism });
    const writer = await openKafkaLogWriter(options, { cursors: noCursors });
    await writer.append('live', record('a'), 1);
    const readers = await openKafkaLogReaders(options, {});
    expect(texts(await readers.reader(1).read('live', 0, noLimits))).toEqual(['a']);
    await readers.close();
    await writer.close();
  });

  it.each([
    [{ password: 'wrong' }, 'LogMisconfiguredError', 'refuses the user: check MILLRACE_KAFKA_USER'],
    [{ ca: '' }, 'LogMisconfiguredError', 'untrusted certificate (DEPTH_ZERO_SELF_SIGNED_CERT)'],
    [{ tls: 'off' }, 'LogUnavailableError', 'did not answer as expected'],
  ] as const)('%o is refused with what to change', async (more, name, sentence) => {
    const opening = openKafkaLogWriter(await optionsWith(more), { cursors: noCursors });
    await expect(opening).rejects.toMatchObject({ name, message: expect.stringContaining(sentence) });
  });
});

const mutualBrokers = process.env.KAFKA_MUTUAL_TLS_BROKERS ?? '';

describe.skipIf(mutualBrokers === '')('a broker that requires a client certificate', () => {
  const optionsWith = async (certificate: string, key: string) => {
    const broker = parseBroker(mutualBrokers);
    if (broker === undefined) throw new Error('expected a broker');
    const ca = await readFile(caFile, 'utf8');
    const access = kafkaAccess({ tls: 'auto', ca, certificate, key, sasl: undefined });
    return testOptions({ brokers: [broker], access });
  };

  it('appends and reads with the certificate and its key', async () => {
    const store = join(dirname(caFile), 'keys.p12');
    const args = ['pkcs12', '-in', store, '-nocerts', '-nodes', '-passin', 'pass:changeit'];
    const key = execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    const options = await optionsWith(await readFile(caFile, 'utf8'), key);
    const writer = await openKafkaLogWriter(options, { cursors: noCursors });
    await writer.append('live', record('a'), 1);
    const readers = await openKafkaLogReaders(options, {});
    expect(texts(await readers.reader(1).read('live', 0, noLimits))).toEqual(['a']);
    await readers.close();
    await writer.close();
  });

  it('refuses a client without one', async () => {
    const opening = openKafkaLogWriter(await optionsWith('', ''), { cursors: noCursors });
    await expect(opening).rejects.toThrow('did not answer as expected');
  });
});
