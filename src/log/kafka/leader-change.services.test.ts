import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findKafkaJars } from '../../../test/support/kafka-broker.ts';
import { rackOf, startKafkaCluster, type KafkaClusterNode } from '../../../test/support/kafka-cluster.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { backoffMs } from '../../base/retry.ts';
import { noLimits, record, texts } from '../../../test/conformance/event-log/event-log.ts';
import type { FetchAnswers } from '../kafka-connection/fetch-answer.ts';
import { LogUnavailableError, type EventLogReader } from '../eventlog.ts';
import { openCluster, type KafkaLogOptions } from './cluster.ts';
import { plainAccess } from './kafka-log.fixture.ts';
import { openKafkaLogReaders } from './reader.ts';
import { openKafkaLogWriter } from './writer.ts';

const fetchKey = 1;
const slots = 2;
const senders = 16;
const kills = 2;
/** Of each sender after an answer: the other partition is written during an election, which takes seconds. */
const restMs = 10;
const unavailableMsMax = 60_000;
/** Empty answers in a row at the end; each is waited for. */
const emptyMax = 20;
/** Limit of one read, so that ranges end anywhere. */
const readLimits = { events: 37, bytes: 1_000_000 };

describe.skipIf(kafkaBrokers === '')('three brokers with every record on each', () => {
  let directory: string;
  let nodes: KafkaClusterNode[] = [];
  let options: KafkaLogOptions;
  beforeAll(async () => {
    const jars = await findKafkaJars();
    if (typeof jars === 'string') throw new Error(jars);
    directory = await mkdtemp(join(tmpdir(), 'millrace-kafka-cluster-'));
    nodes = await startKafkaCluster(jars, directory, 3);
    options = {
      brokers: nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      access: plainAccess,
      topicPrefix: '',
      slots,
      replication: 3,
      minInsync: 2,
      bodyBytesMax: 20_971_520,
    };
  }, 180_000);
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await rm(directory, { recursive: true, force: true });
  });

  /** Kills the leader of the partition and returns it once there is another one. */
  async function killLeader(own: KafkaLogOptions, slot: number): Promise<KafkaClusterNode> {
    const cluster = await openCluster(own);
    try {
      const leader = cluster.leaderOf('live', slot);
      const node = nodes.find(({ port }) => port === leader?.port);
      if (node === undefined) throw new Error(`expected a leader among the brokers, got: ${JSON.stringify(leader)}`);
      await node.kill();
      await vi.waitFor(
        async () => {
          await cluster.refresh();
          const next = cluster.leaderOf('live', slot)?.port;
          if (next === undefined || next === node.port) throw new Error('expected another leader, got none yet');
        },
        { timeout: 60_000, interval: 100 },
      );
      return node;
    } finally {
      await cluster.close();
    }
  }

  it('records are read from the replica in the zone of the process, and from the leader when that replica is gone', async () => {
    const near = nodes[1];
    if (near === undefined) throw new Error('expected three brokers');
    const own = { ...options, topicPrefix: 'zones', rack: rackOf(2) };
    const writer = await openKafkaLogWriter(own, {
      cursors: async () => ({ live: new Map(), historical: new Map() }),
    });
    const cluster = await openCluster(own);
    const slot = [0, 1].find((each) => cluster.leaderOf('live', each)?.port !== near.port) ?? -1;
    const leader = cluster.leaderOf('live', slot);
    await cluster.close();
    using fetched = watchFetches();
    const readers = await openKafkaLogReaders(own, {});
    const reader = readers.reader(slot);
    let seq = 0;
    const found: string[] = [];
    const appendAndRead = async (names: readonly string[]): Promise<void> => {
      for (const name of names)
        await writer.append('live', { ...record(name), body: Buffer.alloc(10_000, name) }, slot);
      found.length = 0;
      const readMore = async (): Promise<string[]> => {
        const records = await whenThere(() => reader.read('live', seq, noLimits));
        seq = records.at(-1)?.seq ?? seq;
        found.push(...texts(records).map((text) => text.slice(0, 1)));
        if (found.length < names.length) await reader.waitForAppend(100);
        return found;
      };
      await expect.poll(readMore, { timeout: unavailableMsMax }).toEqual(names);
    };
    await appendAndRead(['a', 'b', 'c', 'd', 'e']);
    expect(fetched.bytes.get(near.port)).toBeGreaterThan(50_000);
    expect(fetched.bytes.get(leader?.port ?? 0) ?? 0).toBe(0);
    await near.kill();
    await appendAndRead(['f', 'g', 'h']);
    expect(fetched.bytes.get(leader?.port ?? 0)).toBeGreaterThan(30_000);
    await near.restart();
    await readers.close();
    await writer.close();
  }, 240_000);

  it.each([
    [
      'kill -9 of the leader during appends and reads: acknowledged records are read once, each sender keeps its order, and appends continue',
      '',
    ],
    [
      'kill -9 of the leader while replicas in the zone of the process are read: acknowledged records are read once, and each sender keeps its order',
      rackOf(2),
    ],
  ])(
    '%s',
    async (_name, rack) => {
      const own = { ...options, rack, topicPrefix: `leaders-${rack}` };
      const writer = await openKafkaLogWriter(
        { ...own, appendTimeoutMs: 30_000, pollMs: 100 },
        { cursors: async () => ({ live: new Map(), historical: new Map() }) },
      );
      const readers = await openKafkaLogReaders(own, {});
      const acknowledged = new Set<string>();
      const over = new AbortController();
      const sent = new AbortController();
      const sending = Array.from({ length: senders }, async (_, sender) => {
        for (let n = 0; !over.signal.aborted; n += 1) {
          const text = `${sender}:${n}`;
          try {
            await writer.append('live', record(text), sender % slots);
            acknowledged.add(text);
            await sleep(restMs);
          } catch (error) {
            if (!(error instanceof LogUnavailableError)) throw error;
          }
        }
      });
      const reading = Array.from({ length: slots }, (_, slot) => readAlong(readers.reader(slot), sent.signal));
      const someMore = async (): Promise<void> => {
        const before = acknowledged.size;
        await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(before + 200), 60_000);
      };
      for (let round = 0; round < kills; round += 1) {
        await someMore();
        const killed = await killLeader(own, round % slots);
        await someMore();
        await killed.restart();
      }
      await someMore();
      over.abort();
      await Promise.all(sending);
      sent.abort();
      const found = (await Promise.all(reading)).flat();
      expect(new Set(found).size).toBe(found.length);
      const missing = acknowledged.difference(new Set(found));
      expect([...missing]).toEqual([]);
      for (const sender of sending.keys()) {
        const own = found.filter((text) => text.startsWith(`${sender}:`)).map((text) => Number(text.split(':')[1]));
        expect(own).toEqual(own.toSorted((a, b) => a - b));
      }
      await readers.close();
      await writer.close();
    },
    240_000,
  );
});

interface WatchedFetches extends Disposable {
  /** Bytes of records by the port of the broker that sent them. */
  readonly bytes: ReadonlyMap<number, number>;
}

/** Counts what brokers return, as the client library reports it. */
function watchFetches(): WatchedFetches {
  const bytes = new Map<number, number>();
  const channel = 'tracing:plt:kafka:connections:api:asyncStart';
  const note = (message: unknown): void => {
    const { connection, apiKey, result } = message as {
      readonly connection: { readonly port: number };
      readonly apiKey: number;
      readonly result?: FetchAnswers;
    };
    if (apiKey !== fetchKey || result === undefined) return;
    const sum = result.partitions.reduce((total, { records }) => total + records.length, 0);
    bytes.set(connection.port, (bytes.get(connection.port) ?? 0) + sum);
  };
  subscribe(channel, note);
  return { bytes, [Symbol.dispose]: () => void unsubscribe(channel, note) };
}

/**
 * Reads as a pipeline does: continues after what it has, and repeats the previous range, which must be the same. Ends when
 * everything has been sent and read: a replica learns with a delay what is confirmed.
 */
async function readAlong(reader: EventLogReader, sent: AbortSignal): Promise<string[]> {
  const found: string[] = [];
  let seq = 0;
  let empty = 0;
  for (;;) {
    const isLast = sent.aborted;
    const records = await whenThere(() => reader.read('live', seq, readLimits));
    const lastSeq = records.at(-1)?.seq;
    if (lastSeq === undefined) {
      empty += 1;
      if (isLast && empty > emptyMax) break;
      await reader.waitForAppend(100);
      continue;
    }
    empty = 0;
    const again = await whenThere(() => reader.read('live', seq, { events: Infinity, bytes: Infinity, lastSeq }));
    expect(texts(again)).toEqual(texts(records));
    found.push(...texts(records));
    seq = lastSeq;
  }
  await reader.close();
  return found;
}

/**
 * A read may fail temporarily: a new leader knows what was confirmed only once another broker has fetched from it. Retries like a
 * pipeline, with growing pauses, for as long as brokers on a busy machine may take.
 */
async function whenThere<T>(read: () => Promise<T>): Promise<T> {
  const until = performance.now() + unavailableMsMax;
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof LogUnavailableError) || performance.now() > until) throw error;
      await sleep(backoffMs(attempt, 50, 1000));
    }
  }
}
