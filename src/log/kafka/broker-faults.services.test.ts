import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findKafkaJars, startKafkaBroker, type KafkaBroker } from '../../../test/support/kafka-broker.ts';
import { parseBroker } from '../kafka-connection/access.ts';
import { noLimits, record, texts } from '../../../test/conformance/event-log/event-log.ts';
import { LogUnavailableError, type EventLogReader } from '../eventlog.ts';
import type { KafkaLogOptions } from './cluster.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { plainAccess } from './kafka-log.fixture.ts';
import type { SharedLogReaders, SharedLogWriter } from '../shared-log.ts';
import { openKafkaLogReaders } from './reader.ts';
import { openKafkaLogWriter } from './writer.ts';

/** Of each sender after an answer. */
const restMs = 5;

// A separate broker, because other tests must not see it stop.
describe.skipIf(kafkaBrokers === '')('a broker that stops and restarts', () => {
  let directory: string;
  let broker: KafkaBroker;
  let options: KafkaLogOptions;
  beforeAll(async () => {
    const jars = await findKafkaJars();
    if (typeof jars === 'string') throw new Error(jars);
    directory = await mkdtemp(join(tmpdir(), 'millrace-kafka-'));
    broker = await startKafkaBroker(jars, directory);
    const place = parseBroker(broker.plain);
    if (place === undefined) throw new Error(`expected host:port, got: ${broker.plain}`);
    options = {
      brokers: [place],
      access: plainAccess,
      topicPrefix: 'faults',
      slots: 2,
      replication: 1,
      minInsync: 1,
      bodyBytesMax: 20_971_520,
    };
  });
  afterAll(async () => {
    await broker.kill();
    await rm(directory, { recursive: true, force: true });
  });

  const openWriter = (appendTimeoutMs: number): Promise<SharedLogWriter> =>
    openKafkaLogWriter(
      { ...options, appendTimeoutMs, pollMs: 100 },
      { cursors: async () => ({ live: new Map(), historical: new Map() }) },
    );

  async function readAll(readers: SharedLogReaders, slot: number): Promise<string[]> {
    const reader: EventLogReader = readers.reader(slot);
    const found = texts(await reader.read('live', 0, noLimits));
    await reader.close();
    return found;
  }

  it('kill -9 of the broker during appends: acknowledged records are stored, none twice, and each sender keeps its order', async () => {
    const writer = await openWriter(20_000);
    const acknowledged = new Set<string>();
    let refused = 0;
    const over = new AbortController();
    const senders = Array.from({ length: 16 }, async (_, sender) => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const text = `${sender}:${n}`;
        try {
          await writer.append('live', record(text), sender % 2);
          acknowledged.add(text);
          await sleep(restMs);
        } catch (error) {
          if (!(error instanceof LogUnavailableError)) throw error;
          refused += 1;
        }
      }
    });
    // Even on a slow machine, some are in flight at every kill.
    const someMore = async (): Promise<void> => {
      const before = acknowledged.size;
      await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(before + 50), 60_000);
    };
    for (let round = 0; round < 3; round += 1) {
      await someMore();
      await broker.restart();
    }
    await someMore();
    over.abort();
    await Promise.all(senders);
    const readers = await openKafkaLogReaders(options, {});
    const found = [...(await readAll(readers, 0)), ...(await readAll(readers, 1))];
    expect(refused).toBeLessThan(acknowledged.size);
    expect(new Set(found).size).toBe(found.length);
    expect([...acknowledged.difference(new Set(found))]).toEqual([]);
    for (const sender of senders.keys()) {
      const own = found.filter((text) => text.startsWith(`${sender}:`)).map((text) => Number(text.split(':')[1]));
      expect(own).toEqual(own.toSorted((a, b) => a - b));
    }
    await readers.close();
    await writer.close();
  });

  it('appends to an unavailable broker are refused in time, its silence is reported, and they work when it is back', async () => {
    const writer = await openWriter(1000);
    const readers = await openKafkaLogReaders(options, {});
    const reader = readers.reader(0);
    const before = (await reader.read('live', 0, noLimits)).length;
    await broker.kill();
    const start = performance.now();
    await expect(writer.append('live', record('away'), 0)).rejects.toBeInstanceOf(LogUnavailableError);
    expect(performance.now() - start).toBeLessThan(8000);
    await vi.waitFor(() => expect(writer.silentSeconds()).toBeGreaterThan(0.5), 5000);
    await broker.restart();
    await writer.append('live', record('back'), 0);
    await vi.waitFor(() => expect(writer.silentSeconds()).toBe(0), 15_000);
    const found = texts(await reader.read('live', 0, noLimits)).slice(before);
    expect(found).toContain('back');
    await reader.close();
    await readers.close();
    await writer.close();
  });

  it('a failed append to a hung broker is not mistaken for a later one', async () => {
    const writer = await openWriter(2000);
    await writer.append('live', record('before'), 1);
    broker.pause();
    const given = writer.append('live', record('failed'), 1).catch((error: unknown) => error);
    await sleep(12_000);
    broker.resume();
    expect(await given).toBeInstanceOf(LogUnavailableError);
    await writer.append('live', record('after'), 1);
    const readers = await openKafkaLogReaders(options, {});
    const found = await readAll(readers, 1);
    // The failed record may have arrived; the acknowledged one has.
    expect(found.filter((text) => text === 'after')).toHaveLength(1);
    expect(found.filter((text) => text === 'failed').length).toBeLessThanOrEqual(1);
    await readers.close();
    await writer.close();
  });
});
