/**
 * A cluster without Kafka: real processes and PostgreSQL, which has the metadata and the event log; ClickHouse and the bucket are test
 * doubles over HTTP.
 */
import { sql } from 'kysely';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openCluster } from '../../../test/support/cluster.ts';
import { compareWithLedger, Ledger, readAllEvents } from '../../../test/support/ledger.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import { apiGet, type TestServer } from '../../../test/support/server.ts';

const patient = { timeout: 90_000, interval: 200 };

describeOnPostgres('a cluster with its event log in PostgreSQL', (database) => {
  it('events acknowledged while capture, pipelines and connections are killed are stored once', async () => {
    await using cluster = await openCluster(database.url, { eventLog: 'postgres' });
    const [capture, api, first, second] = await Promise.all([
      cluster.start('capture'),
      cluster.start('api'),
      cluster.start('pipeline'),
      cluster.start('pipeline'),
    ]);
    const ledger = new Ledger();
    const sendFor = async (server: TestServer, ms: number): Promise<void> => {
      const ended = AbortSignal.timeout(ms);
      // A refused batch ends the call.
      while (!ended.aborted && server.child.exitCode === null && server.child.signalCode === null) {
        await ledger.sendUntilDown(server, 4, ended, 20);
      }
    };
    await sendFor(capture, 1500);
    const connections = sql`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'millrace event log' and datname = current_database()`;
    await Promise.all([
      sendFor(capture, 3000),
      delay(500).then(() => first.kill()),
      delay(1500).then(() => connections.execute(database.db)),
    ]);
    await Promise.all([sendFor(capture, 2000), delay(700).then(() => capture.kill())]);
    const [again] = await Promise.all([cluster.start('capture'), second.kill()]);
    await sendFor(again, 500);
    await cluster.start('pipeline');
    await ledger.settle(again);
    expect(ledger.acknowledged.size).toBeGreaterThan(200);
    await expect
      .poll(async () => {
        const { total } = await apiGet<{ total: { standard: number; historical: number } }>(
          api,
          '/api/projects/@current/events/counts/',
        );
        return total.standard + total.historical;
      }, patient)
      .toBe(ledger.sent.size);
    expect(compareWithLedger(ledger, await readAllEvents(api))).toEqual([]);
    // Stored records are deleted.
    await expect
      .poll(async () => {
        const { rows } = await sql<{ left: string }>`select count(*) as left from event_log_records`.execute(
          database.db,
        );
        return Number(rows[0]?.left);
      }, patient)
      .toBe(0);
  });
});
