import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Admin, Producer, type MessageToProduce } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaBrokers as brokers, kafkaTls } from '../../../test/support/kafka-servers.ts';
import { networkFault } from '../../base/network-fault.ts';
import { createKafkaConnections, type KafkaConnections } from '../../log/kafka-connection/connections.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { lineWithoutRecord, type RecordChunk, type Source, type SourceHost, type SourcePart } from '../source.ts';
import { createKafkaClient } from './kafka-client.ts';
import { readBatches } from './kafka-records.ts';
import { kafka } from './kafka.ts';
import { resolveBy, testSourceHost } from './source-host.fixture.ts';

const { brokers: tlsBrokers, caFile, user, password } = kafkaTls;
const signal = new AbortController().signal;

type Message = Pick<
  MessageToProduce<string, Buffer, string, string>,
  'key' | 'value' | 'headers' | 'partition' | 'timestamp'
>;
type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

let admin: Admin;
let producer: Producer<string, Buffer, string, string>;
beforeAll(() => {
  if (brokers === '') return;
  const base = { clientId: 'millrace-test', bootstrapBrokers: [brokers] };
  admin = new Admin(base);
  producer = createProducer();
});
afterAll(async () => {
  if (brokers === '') return;
  await producer.close();
  await admin.close();
});

function createProducer(more: { readonly transactionalId?: string } = {}): Producer<string, Buffer, string, string> {
  const text = (value?: string): Buffer | undefined => (value === undefined ? undefined : Buffer.from(value));
  return new Producer({
    clientId: 'millrace-test',
    bootstrapBrokers: [brokers],
    serializers: { key: text, value: (value?: Buffer) => value, headerKey: text, headerValue: text },
    // Else what is tried again lies there twice.
    idempotent: true,
    ...more,
  });
}

async function makeTopic(partitions = 1, configs: readonly { name: string; value: string }[] = []): Promise<string> {
  const topic = `events-${randomUUID()}`;
  await admin.createTopics({ topics: [topic], partitions, replicas: 1, configs: [...configs] });
  return topic;
}

async function send(topic: string, messages: readonly Message[], compression: Compression = 'none'): Promise<void> {
  const all = messages.map((message) => ({ partition: 0, ...message, topic }));
  await producer.send({ messages: all, acks: -1, compression });
}

function json(value: unknown): Message {
  return { value: Buffer.from(JSON.stringify(value)) };
}

function numbered(from: number, to: number, partition = 0): Message[] {
  return Array.from({ length: to - from }, (_, index) => ({ ...json({ id: from + index }), partition }));
}

function open(topic: string, settings: SettingValues = {}, host: Partial<SourceHost> = {}): Source {
  return kafka.createSource(withDefaults(kafka.fields, { brokers, topic, ...settings }), testSourceHost(host));
}

interface Read {
  readonly lines: string[];
  readonly faults: NonNullable<RecordChunk['faults']>;
}

async function readParts(source: Source, parts: readonly SourcePart[]): Promise<Read> {
  const lines: string[] = [];
  const faults: NonNullable<RecordChunk['faults']>[number][] = [];
  for (const part of parts) {
    for await (const chunk of source.open(part, { signal })) {
      if (chunk.count > 0) lines.push(...chunk.lines.toString('utf8').slice(0, -1).split('\n'));
      faults.push(...(chunk.faults ?? []));
    }
  }
  return { lines, faults };
}

async function readAll(source: Source): Promise<Read> {
  return await readParts(source, await source.listParts({}, { signal }));
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe.skipIf(brokers === '')('messages of a topic of a real broker', () => {
  it('are read once each, by partition and in its order, with every compression', async () => {
    const topic = await makeTopic(3);
    const kinds: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
    for (const [index, kind] of kinds.entries()) {
      await send(
        topic,
        [0, 1, 2].flatMap((partition) => numbered(index * 100, index * 100 + 100, partition)),
        kind,
      );
    }
    const source = open(topic);
    const parts = await source.listParts({}, { signal });
    expect(parts.map(({ key }) => key)).toEqual([0, 1, 2].map((each) => `partition ${each}, offsets 0 to 499`));
    const { lines } = await readParts(source, parts);
    const ids = Array.from({ length: 500 }, (_, id) => `{"id":${id}}`);
    expect(lines).toEqual([...ids, ...ids, ...ids]);
  });

  it('that arrive after the beginning of the import are not read, even by a process that resumes it', async () => {
    const topic = await makeTopic(2);
    await send(topic, numbered(0, 10));
    const source = open(topic);
    const parts = await source.listParts({}, { signal, holdsSnapshot: true });
    await send(topic, [...numbered(10, 20), ...numbered(0, 5, 1)]);
    expect(await source.listParts({}, { signal, holdsSnapshot: true })).toEqual(parts);
    expect((await readParts(source, parts)).lines).toHaveLength(10);
    const known = parts.map(({ key, detail = {} }) => ({ key, detail }));
    expect(await open(topic).listParts({}, { signal, known })).toEqual(parts);
    await source.release?.();
    expect(source.describe?.(parts)).toBe('partition 0: offsets 0 to 9, partition 1: nothing (it ends at 0)');
    const later = await source.listParts({}, { signal });
    expect(source.describe?.(later)).toBe('partition 0: offsets 0 to 19, partition 1: offsets 0 to 4');
  });

  it('keep every digit in every layout; a message that is not JSON is a fault with partition, offset and original', async () => {
    const topic = await makeTopic();
    const values = [
      '{"n": 123456789012345678901234567890.10, "z": -0.0}',
      '{\n  "a": "x\\ny",\n  "b": [1]\n}',
      '\ufeff{"bom": true}',
      '\0\0\0\0\u0007{"schema": 7}',
      '{"half": ',
    ];
    const bytes = [
      ...values.map((value) => Buffer.from(value)),
      Buffer.from([0xff, 0x01]),
      Buffer.from('\0\0\0\0\u0001\u0002x'),
    ];
    await send(
      topic,
      bytes.map((value) => ({ value })),
    );
    await producer.send({ messages: [{ topic, partition: 0, key: 'gone', value: undefined as unknown as Buffer }] });
    const { lines, faults } = await readAll(open(topic));
    expect(lines).toEqual([
      values[0],
      '{   "a": "x\\ny",   "b": [1] }'.replaceAll(/ {3}/g, '   '),
      '{"bom": true}',
      '{"schema": 7}',
      lineWithoutRecord.toString().slice(0, -1),
    ]);
    expect(faults.map(({ place, original }) => [place, original])).toEqual([
      ['partition 0, offset 4', '{"half": '],
      ['partition 0, offset 5', Buffer.from([0xff, 0x01]).toString('base64')],
      ['partition 0, offset 6', '\0\0\0\0\u0001\u0002x'],
    ]);
    expect(faults[2]?.reason).toContain('Avro and Protobuf');
  });

  it('as whole messages have key, time and headers in addition to the value', async () => {
    const topic = await makeTopic();
    const value = Buffer.from('{"n": 1.10}');
    await send(topic, [{ key: 'u1', value, headers: { source: 'web' }, timestamp: 1714557600123n }]);
    const { lines } = await readAll(open(topic, { record: 'message' }));
    expect(lines).toEqual([
      '{"partition":0,"offset":0,"timestamp":"2024-05-01T10:00:00.123Z","key":"u1","headers":{"source":"web"},"value":{"n": 1.10}}',
    ]);
  });

  it('of a time range are selected by their own time, in any order', async () => {
    const topic = await makeTopic();
    const at = (id: number, time: string): Message => ({ ...json({ id }), timestamp: BigInt(Date.parse(time)) });
    await send(topic, [at(1, '2024-05-01T00:00:00Z'), at(2, '2024-05-03T00:00:00Z'), at(3, '2024-05-01T12:00:00Z')]);
    await send(topic, [at(4, '2024-05-04T00:00:00Z'), at(5, '2024-05-02T00:00:00Z')]);
    const source = open(topic);
    const range = { from: '2024-05-01T12:00:00.000Z', to: '2024-05-03T00:00:00.000Z' };
    const { lines } = await readParts(source, await source.listParts(range, { signal }));
    expect(lines).toEqual(['{"id":3}', '{"id":5}']);
  });

  it('are read from the requested offsets', async () => {
    const topic = await makeTopic(2);
    await send(topic, [...numbered(0, 10), ...numbered(0, 3, 1)]);
    const { lines } = await readAll(open(topic, { from_offsets: '0:8, 1:3' }));
    expect(lines).toEqual(['{"id":8}', '{"id":9}']);
  });
});

describe.skipIf(brokers === '')('transactions and gaps', () => {
  it('aborted records are skipped, and an open transaction limits the end', async () => {
    const topic = await makeTopic();
    const sender = createProducer({ transactionalId: `tx-${randomUUID()}` });
    try {
      const inTransaction = async (ids: readonly [number, number], end: 'commit' | 'abort' | 'stay open') => {
        const transaction = await sender.beginTransaction();
        await transaction.send({ messages: numbered(...ids).map((message) => Object.assign(message, { topic })) });
        if (end !== 'stay open') await transaction[end]();
        return transaction;
      };
      await inTransaction([0, 3], 'commit');
      await inTransaction([100, 103], 'abort');
      await send(topic, numbered(3, 5));
      await inTransaction([5, 7], 'commit');
      const left = await inTransaction([200, 203], 'stay open');
      await send(topic, numbered(7, 9));
      const { lines } = await readAll(open(topic));
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([0, 1, 2, 3, 4, 5, 6].map((id) => ({ id })));
      await left.abort();
      // A broker answers that a transaction has ended before the topic's partitions say so.
      await expect.poll(async () => (await readAll(open(topic))).lines.length).toBe(9);
    } finally {
      await sender.close();
    }
  });

  it('messages that retention deletes during the import stop it, with advice', async () => {
    const topic = await makeTopic();
    await send(topic, numbered(0, 100));
    const source = open(topic);
    const parts = await source.listParts({}, { signal, holdsSnapshot: true });
    await admin.deleteRecords({ topics: [{ name: topic, partitions: [{ partition: 0, offset: 40n }] }] });
    expect(await failure(readParts(source, parts))).toMatchObject({
      name: 'SourceError',
      message: expect.stringMatching(/offsets 0 to 99 .*deleted everything before 40.*start the import again/),
    });
    const again = open(topic);
    expect((await readAll(again)).lines).toHaveLength(60);
    expect(await failure(open(topic, { from_offsets: '0:10' }).listParts({}, { signal }))).toMatchObject({
      message: expect.stringContaining('begins at 40'),
    });
  });

  it('gaps of a compacted topic are not a fault', async () => {
    const topic = await makeTopic(1, [
      { name: 'cleanup.policy', value: 'compact' },
      { name: 'segment.ms', value: '100' },
      { name: 'min.cleanable.dirty.ratio', value: '0.01' },
    ]);
    for (let round = 0; round < 3; round += 1) {
      await send(
        topic,
        ['a', 'b'].map((key) => Object.assign(json({ key, round }), { key })),
      );
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    await send(topic, [{ key: 'c', ...json({ key: 'c', round: 3 }) }]);
    const source = open(topic);
    await expect.poll(async () => (await readAll(source)).lines.length, { interval: 500 }).toBeLessThan(7);
    const { lines } = await readAll(source);
    expect(lines).toContain('{"key":"a","round":2}');
    expect(lines.at(-1)).toBe('{"key":"c","round":3}');
  });

  it('a topic that was recreated under the same name is a different topic', async () => {
    const topic = await makeTopic();
    await send(topic, numbered(0, 5));
    const source = open(topic);
    const parts = await source.listParts({}, { signal, holdsSnapshot: true });
    await admin.deleteTopics({ topics: [topic] });
    await expect
      .poll(() => failure(source.listParts({}, { signal })))
      .toMatchObject({ name: 'SourceError', message: expect.stringContaining('does not exist') });
    await admin.createTopics({ topics: [topic], partitions: 1, replicas: 1 });
    await expect
      .poll(() => failure(readParts(source, parts)))
      .toMatchObject({
        name: 'SourceChangedError',
        message: expect.stringContaining('is not the topic that was listed'),
      });
  });
});

describe.skipIf(brokers === '')('connections to a broker', () => {
  const secure = async (): Promise<SettingValues> => ({
    brokers: tlsBrokers,
    ca: await readFile(caFile, 'utf8'),
    user,
    password,
  });

  it.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])('TLS and SASL %s', async (mechanism) => {
    const topic = await makeTopic();
    await send(topic, numbered(0, 3));
    expect((await readAll(open(topic, { ...(await secure()), mechanism }))).lines).toHaveLength(3);
  });

  it.each([
    ['a wrong password', { password: 'wrong-secret' }, 'rejected the user'],
    ['a wrong password, SCRAM', { password: 'wrong-secret', mechanism: 'SCRAM-SHA-256' }, 'rejected the user'],
    ['a certificate of an unknown authority', { ca: '' }, 'cannot be trusted'],
    ['TLS with a broker without it', { brokers, user: '', tls: 'verify' }, 'See the setting "tls"'],
    ['a user with a broker without login', { brokers, tls: 'off' }, 'does not support login'],
    ['no topic', { topic: 'none' }, 'the topic "none" does not exist'],
  ])('%s is reported', async (_what, settings, message) => {
    const topic = await makeTopic();
    const error = await failure(open(topic, { ...(await secure()), ...settings }).listParts({}, { signal }));
    expect(error).toMatchObject({ name: 'SourceError', message: expect.stringContaining(message) });
    expect(String(error)).not.toContain('secret');
  });

  it('a missing TLS setting is retried a few times, with the likely cause', async () => {
    const source = open(await makeTopic(), { ...(await secure()), tls: 'off' });
    const error = await failure(source.listParts({}, { signal }));
    expect(error).toMatchObject({
      name: 'SourceWaitError',
      unlimited: false,
      message: expect.stringContaining('the setting "tls"'),
    });
    const bare = await failure(open('t', { brokers: tlsBrokers }).listParts({}, { signal }));
    expect(bare).toMatchObject({ name: 'SourceError', message: expect.stringContaining('Broker requires TLS') });
  });

  it('an unreachable broker is retried, and distinguished from a busy one', async () => {
    const error = await failure(open('t', { brokers: '127.0.0.1:1' }).listParts({}, { signal }));
    expect(error).toMatchObject({ name: 'SourceWaitError', unlimited: true });
    expect(networkFault(error)).toBe('ECONNREFUSED');
  });

  it('the second broker is used if the first is unavailable', async () => {
    const topic = await makeTopic();
    await send(topic, numbered(0, 3));
    expect((await readAll(open(topic, { brokers: `127.0.0.1:1, ${brokers}` }))).lines).toHaveLength(3);
  });

  it('no request is sent to an address that is not permitted, whether named by a setting or by a broker', async () => {
    const refused = await failure(open('t', {}, { resolve: resolveBy('') }).listParts({}, { signal }));
    expect(refused).toMatchObject({ name: 'SourceError' });
    const topic = await makeTopic();
    await send(topic, numbered(0, 3));
    const [, port = ''] = brokers.split(':');
    const asked: string[] = [];
    const resolve = async (host: string): Promise<string> => {
      asked.push(host);
      return '127.0.0.1';
    };
    expect((await readAll(open(topic, { brokers: `kafka.example:${port}` }, { resolve }))).lines).toHaveLength(3);
    expect(new Set(asked)).toEqual(new Set(['kafka.example', '127.0.0.1']));
  });

  it('a pause ends a waiting read', async () => {
    const topic = await makeTopic();
    await send(topic, numbered(0, 3));
    const source = open(topic);
    const parts = await source.listParts({}, { signal });
    const controller = new AbortController();
    controller.abort(new Error('paused'));
    const [part] = parts;
    if (part === undefined) throw new Error('expected a part');
    await expect(Array.fromAsync(source.open(part, { signal: controller.signal }))).rejects.toThrow('paused');
  });
});

describe.skipIf(brokers === '')('versions of the protocol', () => {
  /** Limits the versions as an older broker does. */
  function olderBroker(connections: KafkaConnections, versions: Readonly<Record<number, number>>): KafkaConnections {
    return {
      ...connections,
      to: async (broker) => {
        const connection = await connections.to(broker);
        return {
          ...connection,
          agree: (apiKey, forms) =>
            connection.agree(
              apiKey,
              forms.filter(({ version }) => version <= (versions[apiKey] ?? Infinity)),
            ),
        };
      },
    };
  }

  it.each([
    ['of Kafka 4', {}],
    ['of Kafka 3.5', { 1: 15 }],
    ['of Kafka 3.1', { 1: 13 }],
    ['of Kafka 2.7', { 1: 12, 2: 6, 3: 9 }],
    ['of Kafka 2.3', { 1: 11, 2: 5, 3: 7 }],
  ])('requests %s give the same messages', async (_what, versions) => {
    const topic = await makeTopic();
    await send(topic, numbered(0, 7), 'zstd');
    const place = {
      brokers: [{ host: '127.0.0.1', port: Number(brokers.split(':')[1]) }],
      topic,
      tls: undefined,
      sasl: undefined,
    };
    const connections = olderBroker(
      createKafkaConnections({ clientId: 'millrace-test', access: place, resolve: async (host) => host, signal }),
      versions,
    );
    await using client = await createKafkaClient({ place, connections, signal });
    expect(await client.offsets('end')).toEqual(new Map([[0, 7]]));
    const { records, highWatermark } = await client.fetch(0, 0);
    expect(highWatermark).toBe(7n);
    const [batch] = await readBatches(records, 'here');
    expect(batch?.records.map(({ value }) => value?.toString())).toEqual(
      Array.from({ length: 7 }, (_, id) => `{"id":${id}}`),
    );
  });

  it('a batch altered on disk is not taken for the one written', async () => {
    const topic = await makeTopic();
    await send(topic, numbered(0, 7));
    const place = {
      brokers: [{ host: '127.0.0.1', port: Number(brokers.split(':')[1]) }],
      topic,
      tls: undefined,
      sasl: undefined,
    };
    const connections = createKafkaConnections({
      clientId: 'millrace-test',
      access: place,
      resolve: async (host) => host,
      signal,
    });
    await using client = await createKafkaClient({ place, connections, signal });
    const { records } = await client.fetch(0, 0);
    const altered = Buffer.from(records);
    altered.write('9', altered.indexOf('{"id":3}') + '{"id":'.length);
    await expect(readBatches(altered, 'partition 0')).rejects.toMatchObject({
      name: 'SourceWaitError',
      unlimited: false,
      message: expect.stringContaining('to match its checksum'),
    });
  });
});
