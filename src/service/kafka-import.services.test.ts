import { randomUUID } from 'node:crypto';
import { Admin, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createImportConfig, startImport, type RunAnswer } from '../../test/support/import-runs.ts';
import { apiGet, startServer, tempDataDir, type TestServer } from '../../test/support/server.ts';

// As scripts/with-kafka.ts gives them.
const brokers = process.env.KAFKA_BROKERS ?? '';
const count = 300;
const finalStates = new Set(['completed', 'failed', 'paused', 'cancelled']);

describe.skipIf(brokers === '')('a topic that the service imports', () => {
  let data: Awaited<ReturnType<typeof tempDataDir>>;
  let server: TestServer;
  const topic = `events-${randomUUID()}`;
  beforeAll(async () => {
    data = await tempDataDir();
    server = await startServer(data.path, { MILLRACE_OUTBOUND_ALLOW: brokers });
    await fillTopic(topic);
  });
  afterAll(async () => {
    await server.terminate();
    await data[Symbol.asyncDispose]();
  });

  it('is stored exactly, and a broker that the operator does not allow is refused', async () => {
    const mapping = {
      event: 'value.name',
      distinct_id: 'key',
      timestamp: { path: 'timestamp', format: 'iso' },
      uuid: 'made-up-{partition}-{offset}',
      properties: { n: 'value.n' },
    };
    const config = await createImportConfig(server, 'kafka', { brokers, topic, record: 'message' });
    const options = { format: 'mapping', format_options: { mapping } };
    const run = await endOf(server, await startImport(server, config, options));
    expect(run).toMatchObject({ state: 'completed', totals: { records: count, rejected: 0 } });

    const other = await createImportConfig(server, 'kafka', { brokers: '127.0.0.1:1', topic });
    const refused = await endOf(server, await startImport(server, other, options));
    expect(refused).toMatchObject({ state: 'failed', reason: expect.stringContaining('127.0.0.1') });
  });
});

async function fillTopic(topic: string): Promise<void> {
  const base = { clientId: 'millrace-test', bootstrapBrokers: [brokers] };
  const admin = new Admin(base);
  await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 });
  await admin.close();
  const producer = new Producer({ ...base, idempotent: true });
  const messages = Array.from({ length: count }, (_, n) => ({
    topic,
    partition: n % 2,
    key: Buffer.from(`u${n % 7}`),
    value: Buffer.from(JSON.stringify({ n, name: 'Visit' })),
    timestamp: BigInt(1.7e12 + n),
  }));
  await producer.send({ messages, acks: -1 });
  await producer.close();
}

async function endOf(server: TestServer, path: string): Promise<RunAnswer> {
  const read = (): Promise<RunAnswer> => apiGet<RunAnswer>(server, path);
  await expect.poll(async () => (await read()).state, { timeout: 60_000 }).toSatisfy((s) => finalStates.has(s));
  return await read();
}
