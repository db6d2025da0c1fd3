import { randomUUID } from 'node:crypto';
import { glob, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Admin, Producer } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { runCommand, spawnCommand, type Finished } from '../../../test/support/command.ts';
import { openCommandShell } from '../../../test/support/command-shell.ts';
import { linesOf, resultOf, storedNumbers, upTo } from '../../../test/support/import-command.ts';
import { kafkaBrokers as brokers, kafkaTls } from '../../../test/support/kafka-servers.ts';
import { readBlocks } from '../../../test/support/page-blocks.ts';
import { shareOf } from '../../../test/support/page-commands.ts';
import { exitCodes } from '../exit-codes.ts';

const { brokers: tlsBrokers, caFile } = kafkaTls;
const partitions = 3;

let admin: Admin;
let producer: Producer<undefined, Buffer, undefined, undefined>;
let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-kafka-'));
  if (brokers === '') return;
  const base = { clientId: 'millrace-test', bootstrapBrokers: [brokers] };
  admin = new Admin(base);
  // Else what is tried again lies there twice.
  producer = new Producer({ ...base, idempotent: true }) as typeof producer;
});
afterAll(async () => {
  await rm(dir, { recursive: true, force: true });
  if (brokers === '') return;
  await producer.close();
  await admin.close();
});

const mapping = JSON.stringify({
  event: 'name',
  distinct_id: 'who',
  timestamp: { path: 'at', format: 'iso' },
  uuid: 'made-up-{n}',
  properties: { n: 'n' },
});

async function makeTopic(name = `events-${randomUUID()}`): Promise<string> {
  await admin.createTopics({ topics: [name], partitions, replicas: 1 });
  return name;
}

async function send(topic: string, numbers: readonly number[]): Promise<void> {
  const valueOf = (n: number): Buffer =>
    Buffer.from(JSON.stringify({ n, name: 'Visit', who: `u${n % 50}`, at: new Date(1.7e12 + n * 1000) }));
  for (let from = 0; from < numbers.length; from += 5000) {
    const messages = numbers
      .slice(from, from + 5000)
      .map((n) => ({ topic, partition: n % partitions, value: valueOf(n) }));
    await producer.send({ messages, acks: -1 });
  }
}

function wordsFor(topic: string, url: string): string[] {
  const words = [
    'import',
    'mapping',
    `kafka://${brokers}/${topic}`,
    '--format-option',
    `mapping=${mapping}`,
    '--to',
    url,
  ];
  return [...words, '--project-key', 'phc_test', '--state-dir', join(dir, topic), '--json'];
}

function settled({ code, stderr }: Finished): void {
  expect([code, stderr]).toEqual([exitCodes.unverified.code, expect.any(String)]);
}

describe.skipIf(brokers === '')('a topic that is imported by the command', () => {
  it('killed with kill -9 while it reads, the same command resumes up to the offsets of the first start, and the set is exact', async () => {
    const first = 60_000;
    const topic = await makeTopic();
    await send(topic, upTo(first));
    await using endpoint = await startEndpoint(() => 'keep');
    // Its preflight refuses what a busy machine does not answer within 2.5 s; here the kill is what counts.
    const words = [...wordsFor(topic, endpoint.url), '--no-preflight'];
    const killed = await spawnCommand(words, {
      onStart: (child) => {
        void (async () => {
          const segments = join(dir, topic, '**/parts/*/*.zst');
          for (let found = 0; found === 0 && child.exitCode === null; await sleep(5)) {
            found = (await Array.fromAsync(glob(segments))).length;
          }
          child.kill('SIGKILL');
        })();
      },
    });
    expect([killed.code, killed.stderr]).toEqual([null, expect.any(String)]);
    expect(endpoint.kept).toEqual([]);

    await send(topic, upTo(first + 3000).slice(first));
    const again = await runCommand(words);
    settled(again);
    expect(again.stderr).toContain('resumes in export');
    expect(resultOf(again).totals).toMatchObject({ records: first, loaded: first, rejected: 0 });
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(first));

    // What has come since is another import, which starts automatically.
    const later = await runCommand(words);
    settled(later);
    expect(later.stderr).toContain('the source has changed since');
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(first + 3000));
    const done = await runCommand(words);
    expect(done.stderr).toContain('is already done');
  });

  it('the check reports where each partition ends, skipped messages and damaged ones', async () => {
    const topic = await makeTopic();
    await send(topic, upTo(30));
    const tombstone = { topic, partition: 1, value: null as unknown as Buffer };
    await producer.send({ messages: [tombstone, { topic, partition: 2, value: Buffer.from('{"n": ') }] });
    const check = await runCommand([
      'import',
      'check',
      ...wordsFor(topic, 'http://127.0.0.1:1').slice(1, 5),
      '--state-dir',
      join(dir, 'check'),
      '--json',
    ]);
    expect(check.stderr + check.stdout).toContain(
      'partition 0: offsets 0 to 9, partition 1: offsets 0 to 10, partition 2: offsets 0 to 10',
    );
    const result = resultOf(check);
    expect(result.totals).toMatchObject({ records: 32, rejected: 1, skipped: { 'no value (a tombstone)': 1 } });
    expect(JSON.stringify(linesOf(check))).toContain('expected one JSON value in the message');
    const rejected = join(dir, 'rejected.ndjson');
    await runCommand([
      'import',
      'check',
      ...wordsFor(topic, '').slice(1, 5),
      '--state-dir',
      join(dir, 'check'),
      '--rejected',
      rejected,
    ]);
    expect(JSON.parse(await readFile(rejected, 'utf8'))).toMatchObject({
      place: 'partition 2, offset 10',
      original: '{"n": ',
    });
  });

  it('the guide: its commands, with a user and TLS, run as written', async () => {
    const topic = await makeTopic('orders');
    const orders = ['Order Done', 'Order Cancelled'].map((kind, index) => ({
      id: 17 + index,
      kind,
      customer: 'u1',
      at: `2024-05-0${index + 1}T10:00:00.000Z`,
      total: 12.5,
    }));
    await producer.send({ messages: orders.map((each) => ({ topic, value: Buffer.from(JSON.stringify(each)) })) });
    const page = 'docs/guides/migrate-kafka.md';
    const tried = readBlocks(page)
      .map(({ text }) => text)
      .join('');
    const rules = /cat > rules\.json[^]*?^END\n/m.exec(tried)?.[0] ?? '';
    const share = shareOf(import.meta.url);
    const folder = await mkdtemp(join(dir, 'guide-'));
    await writeFile(join(folder, 'ca.pem'), await readFile(caFile));
    await writeFile(join(folder, 'password.txt'), kafkaTls.password);
    await using shell = await openCommandShell();
    const sent: string[][] = [];
    for (const block of share.take({ page })) {
      await using endpoint = await startEndpoint(() => 'keep');
      const script = (rules + block)
        .replaceAll('kafka.internal:9092', brokers)
        .replaceAll('kafka.internal:9093', tlsBrokers)
        .replaceAll('user=importer', `user=${kafkaTls.user}`)
        .replaceAll('http://127.0.0.1:8000', endpoint.url)
        .replaceAll('<project key>', 'phc_test');
      await shell.run(script, folder);
      sent.push(endpoint.kept.map(({ event }) => String(event)).toSorted());
    }
    const both = ['Order Cancelled', 'Order Done'];
    // The first one is the check.
    expect(sent).toEqual([[], both, both]);
    expect(share.left()).toEqual([]);
  });
});
