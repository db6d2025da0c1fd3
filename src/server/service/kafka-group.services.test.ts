/** What tools for Kafka see of a service, and what its records are kept for: a real process, Kafka and PostgreSQL, read by other clients. */
import { Admin } from '@platformatic/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCluster, type TestCluster } from '../../../test/support/cluster.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { compareWithLedger, Ledger, readAllEvents } from '../../../test/support/ledger.ts';
import { describeOnPostgres, type PostgresDatabase } from '../../../test/support/postgres-database.ts';
import type { TestServer } from '../../../test/support/server.ts';

const patient = { timeout: 90_000, interval: 200 };
const slots = 4;
const lanes = ['live', 'historical'];
type ByPartition = Readonly<Record<string, number>>;

describe.skipIf(kafkaBrokers === '')('the records of a service on Kafka', () => {
  describeOnPostgres('', (database) => {
    const ledger = new Ledger();
    let admin: Admin;
    let cluster: TestCluster;
    let service: TestServer;
    beforeAll(async () => {
      admin = new Admin({ clientId: 'millrace-test', bootstrapBrokers: [kafkaBrokers] });
      cluster = await openCluster(database.url, { slots });
      await start();
    });
    afterAll(async () => {
      await cluster?.[Symbol.asyncDispose]();
      await admin?.close();
    });

    const start = async (): Promise<void> => {
      service = await cluster.start('capture,pipeline,api,jobs', { MILLRACE_EVENT_LOG_RETENTION_HOURS: '1' });
    };
    const sendUntil = async (ended: AbortSignal): Promise<void> => {
      while (!ended.aborted && service.child.signalCode === null) await ledger.sendUntilDown(service, 2, ended, 100);
    };
    const prefix = (): string => cluster.env['MILLRACE_KAFKA_TOPIC_PREFIX'] ?? '';
    const committed = async (): Promise<ByPartition> => {
      const [found] = await admin.listConsumerGroupOffsets({ groups: [prefix()] });
      return byPartition(found?.topics ?? [], ({ committedOffset }) => committedOffset);
    };
    /** -2: where the records begin; -1: where they end. */
    const ends = async (timestamp: -1n | -2n): Promise<ByPartition> => {
      const partitions = Array.from({ length: slots }, (_, partitionIndex) => ({ partitionIndex, timestamp }));
      const topics = lanes.map((lane) => ({ name: `${prefix()}.${lane}`, partitions }));
      return byPartition(await admin.listOffsets({ topics }), ({ offset }) => offset);
    };

    it('the offsets of the group never pass what is stored when the process is killed, and its lag goes to 0', async () => {
      const ended = AbortSignal.timeout(patient.timeout);
      const sending = sendUntil(ended);
      await expect
        .poll(async () => Object.values(await committed()).filter((offset) => offset > 0).length, patient)
        .toBeGreaterThan(0);
      await service.kill();
      await sending;
      const [offsets, stored] = [await committed(), await cursors(database)];
      expect(Object.keys(offsets).toSorted()).toEqual(Object.keys(stored).toSorted());
      for (const [partition, offset] of Object.entries(offsets))
        expect(offset).toBeLessThanOrEqual(stored[partition] ?? 0);
      await start();
      await sendUntil(AbortSignal.timeout(500));
      await ledger.settle(service);
      await expect.poll(committed, patient).toEqual(await ends(-1n));
      expect(await cursors(database)).toEqual(await ends(-1n));
    });

    it('stored records are kept for the hours of the setting, and storing them again from the start changes nothing', async () => {
      expect(new Set(Object.values(await ends(-2n)))).toEqual(new Set([0]));
      expect(Math.max(...Object.values(await ends(-1n)))).toBeGreaterThan(20);
      await service.terminate();
      // As after the restore of an earlier backup of PostgreSQL.
      await database.db.updateTable('log_cursors').set({ seq: 0, pending: '[]' }).execute();
      await start();
      await expect.poll(() => cursors(database), patient).toEqual(await ends(-1n));
      expect(compareWithLedger(ledger, await readAllEvents(service))).toEqual([]);
    });
  });
});

function byPartition<Partition extends { readonly partitionIndex: number }>(
  topics: readonly { readonly name: string; readonly partitions: readonly Partition[] }[],
  value: (partition: Partition) => bigint,
): ByPartition {
  const entries = topics.flatMap(({ name, partitions }) =>
    partitions.map((each) => [`${name.split('.').at(-1)}/${each.partitionIndex}`, Number(value(each))] as const),
  );
  return Object.fromEntries(entries);
}

async function cursors({ db }: PostgresDatabase): Promise<ByPartition> {
  const rows = await db.selectFrom('log_cursors').select(['slot', 'lane', 'seq']).execute();
  return Object.fromEntries(rows.map(({ slot, lane, seq }) => [`${lane}/${slot}`, seq]));
}
