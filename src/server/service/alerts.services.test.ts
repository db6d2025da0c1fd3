/** The alerts of clusters fire by their faults in real processes, on a broker that is killed, and end with them; evaluated by promtool. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openCluster, type TestCluster } from '../../../test/support/cluster.ts';
import { firingAlerts, hasPromtool, scrape, type Scrape } from '../../../test/support/fire-alerts.ts';
import { findKafkaJars, startKafkaBroker, type KafkaBroker } from '../../../test/support/kafka-broker.ts';
import { kafkaBrokers } from '../../../test/support/kafka-servers.ts';
import { describeOnPostgres } from '../../../test/support/postgres-database.ts';
import type { TestServer } from '../../../test/support/server.ts';

const skipped = kafkaBrokers === '' ? 'KAFKA_BROKERS is not set' : hasPromtool() ? '' : 'promtool is not installed';
const slots = 4;

describeOnPostgres(`an alert of a cluster${skipped === '' ? '' : ` (skipped: ${skipped})`}`, (database) => {
  const parts = new AsyncDisposableStack();
  let broker: KafkaBroker;
  let cluster: TestCluster;
  let api: TestServer;

  beforeAll(async () => {
    if (skipped !== '') return;
    const jars = await findKafkaJars();
    if (typeof jars === 'string') throw new Error(jars);
    const directory = await mkdtemp(join(tmpdir(), 'millrace-alerts-'));
    parts.defer(() => rm(directory, { recursive: true, force: true }));
    // A separate broker, because other tests must not see it stop.
    broker = await startKafkaBroker(jars, directory);
    parts.defer(() => broker.kill());
    cluster = parts.use(await openCluster(database.url, { slots }));
    api = await cluster.start('api', { KAFKA_BROKERS: broker.plain });
  });
  afterAll(() => parts.disposeAsync());

  const startPipeline = (): Promise<TestServer> => cluster.start('pipeline', { KAFKA_BROKERS: broker.plain });

  it.skipIf(skipped !== '')(
    'of slots fires while no pipeline runs and while one pauses beyond its leases, and ends when all keep up',
    async () => {
      expect(firingAlerts(await around([api]))).toEqual(['MillraceSlotsNotHeld']);
      const one = await startPipeline();
      const two = await startPipeline();
      const all = [api, one, two];
      const isShared = () => expect.poll(() => Promise.all([one, two].map(slotsOf))).toEqual([slots / 2, slots / 2]);
      await isShared();
      await expect.poll(async () => firingAlerts(await around(all))).toEqual([]);

      const paused = await around(all, async () => {
        one.child.kill('SIGSTOP');
        await expect.poll(() => slotsOf(two)).toBe(slots);
        one.child.kill('SIGCONT');
        await expect.poll(() => valueOf(one, 'millrace_slots_lost_total')).toBeGreaterThan(0);
        await isShared();
      });
      expect(firingAlerts(paused)).toEqual(['MillraceSlotsLost']);
      await expect.poll(async () => firingAlerts(await around(all))).toEqual([]);
    },
  );

  it.skipIf(skipped !== '')('of the log fires while the broker is away, and ends when it is back', async () => {
    // No pipeline runs any more.
    expect(firingAlerts(await around([api]))).toEqual(['MillraceSlotsNotHeld']);
    await broker.kill();
    const failures = (): Promise<number> => valueOf(api, 'millrace_log_failures_total');
    const before = await failures();
    const failing = await around([api], () => expect.poll(failures).toBeGreaterThan(before + 2));
    expect(firingAlerts(failing)).toEqual(['MillraceLogFails', 'MillraceSlotsNotHeld']);
    await broker.restart();
    await expect.poll(async () => firingAlerts(await around([api]))).toEqual(['MillraceSlotsNotHeld']);
  });
});

const unevaluated = hasPromtool() ? '' : ' (skipped: promtool is not installed)';

describeOnPostgres(`an alert of a cluster with its event log in PostgreSQL${unevaluated}`, (database) => {
  it.skipIf(unevaluated !== '')(
    'of the log fires while its tables cannot be read, and ends when they can',
    async () => {
      await using cluster = await openCluster(database.url, { slots, eventLog: 'postgres' });
      const api = await cluster.start('api');
      expect(firingAlerts(await around([api]))).toEqual(['MillraceSlotsNotHeld']);
      const rename = (from: string, to: string) =>
        sql`alter table ${sql.id(from)} rename to ${sql.id(to)}`.execute(database.db);
      await rename('event_log_ends', 'lost');
      const failures = (): Promise<number> => valueOf(api, 'millrace_log_failures_total');
      const before = await failures();
      const failing = await around([api], () => expect.poll(failures).toBeGreaterThan(before + 2));
      expect(firingAlerts(failing)).toEqual(['MillraceLogFails', 'MillraceSlotsNotHeld']);
      await rename('lost', 'event_log_ends');
      await expect.poll(async () => firingAlerts(await around([api]))).toEqual(['MillraceSlotsNotHeld']);
    },
  );
});

/** Two scrapes of every process with what happens between them. */
async function around(
  servers: readonly TestServer[],
  work: () => Promise<unknown> = () => delay(3000),
): Promise<(readonly [Scrape, Scrape])[]> {
  const before = await Promise.all(servers.map(scrape));
  await work();
  const after = await Promise.all(servers.map(scrape));
  return before.flatMap((first, at) => (after[at] === undefined ? [] : [[first, after[at]] as const]));
}

async function valueOf(server: TestServer, name: string): Promise<number> {
  const { values = new Map<string, number>() } = await scrape(server);
  return [...values].reduce((sum, [series, value]) => sum + (series.startsWith(name) ? value : 0), 0);
}

const slotsOf = (server: TestServer): Promise<number> => valueOf(server, 'millrace_slots_held');
