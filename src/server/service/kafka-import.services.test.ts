import { randomUUID } from 'node:crypto';
import { Admin, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createImportConfig, expectExactRun, startImport, type RunAnswer } from '../../../test/support/import-runs.ts';
import { kafkaBrokers as brokers } from '../../../test/support/kafka-servers.ts';
import { apiGet, startServer, tempDataDir, type TestServer } from '../../../test/support/server.ts';

const count = 300;

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
    const format = { format: 'mapping', format_options: JSON.stringify({ mapping }) };
    const config = await createImportConfig(server, 'Kafka', { brokers, topic, record: 'message', ...format });
    const { verify } = await expectExactRun(server, await startImport(server, config));
    expect(verify.found).toBe(count);

    const other = await createImportConfig(server, 'Kafka', { brokers: '127.0.0.1:1', topic, ...format });
    const refused = await startImport(server, other);
    const state = async (): Promise<RunAnswer> => apiGet<RunAnswer>(server, refused);
    await expect.poll(state).toMatchObject({ state: 'failed', reason: expect.stringContaining('127.0.0.1') });
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
