import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { countRows, insertRows, newProject, testRow } from '../../../../test/conformance/event-store/event-store.ts';
import { canMount, fillDisk, freeDisk } from '../../../../test/support/clickhouse-disk.ts';
import {
  askReplica,
  replaceReplica,
  replicaAccess,
  replicaDifferences,
  stateOfReplicas,
} from '../../../../test/support/clickhouse-replicas.ts';
import {
  killClickhouse,
  signalClickhouse,
  startClickhouse,
  testReplicas,
} from '../../../../test/support/clickhouse-servers.ts';
import { planPart, readPage, type EventPlace } from '../../export/event-pages.ts';
import { countEvents } from '../counts.ts';
import { countMatched } from '../erase-counts.ts';
import { eventShapes } from '../event-shapes.ts';
import type { EventRow } from '../rows.ts';
import type { RunStore } from '../run-tables.ts';
import { connectClickhouse } from './connect-clickhouse.ts';

/** Replicas of tools/with-clickhouse.ts are stopped and lose their disk while events are stored, erased and removed. */
const servers = testReplicas();
const isReplicated = (servers[0]?.length ?? 0) > 2;
const reason = isReplicated ? '' : ' (skipped: no three replicas of a shard, see tools/with-clickhouse.ts)';
const keeperAwayMs = 30_000;
const limits = { sampleMax: 10_000, eventsMax: 10, propertiesMax: 10, textsMax: 5, textCharsMax: 100 };
const hostile = ["o'brien \\ '", 'nul\u0000byte', '😀 ü', '12345678901234567890'];

describe.skipIf(!isReplicated)(`faults of ClickHouse replicas${reason}`, () => {
  const access = replicaAccess();
  let store: RunStore;
  const connect = (): Promise<RunStore> =>
    connectClickhouse(process.env.CLICKHOUSE_URL ?? '', {
      cluster: process.env.MILLRACE_CLICKHOUSE_CLUSTER ?? '',
      replicas: process.env.MILLRACE_CLICKHOUSE_REPLICAS ?? '',
      pollMs: 500,
    });
  beforeAll(async () => void (store = await connect()));
  afterAll(async () => store.close());

  const [preferred, last] = [servers[0]?.[0], servers[0]?.at(-1)];
  const homeOf = (replica: typeof preferred): string => replica?.home ?? '';
  const rowsOf = (project: number, more: Partial<EventRow> = {}): EventRow[] =>
    Array.from({ length: 200 }, (_, i) => testRow(project, { distinctId: `user-${i}`, ...more }));
  const untilCaughtUp = async (): Promise<void> => {
    await expect.poll(() => stateOfReplicas(access)).toBe('');
    expect(await replicaDifferences(access)).toEqual([]);
  };
  /** Rows on all replicas of all shards, including those that are only marked as deleted. */
  const copies = async (where: string): Promise<number> => {
    let sum = 0;
    for (const { host } of servers.flat()) {
      const sql = `SELECT count() FROM events_local WHERE ${where} SETTINGS apply_deleted_mask = 0`;
      sum += Number(await askReplica(access, host, sql));
    }
    return sum;
  };

  it('erasing waits for a replica that was killed, names it, and leaves neither rows nor ids on any', async () => {
    const project = newProject();
    const texts = hostile.map((text) => `${text} ${project}`);
    await insertRows(store, `erase-${project}`, [
      ...rowsOf(project),
      ...texts.map((distinctId) => testRow(project, { distinctId })),
    ]);
    await untilCaughtUp();
    await killClickhouse(homeOf(last));
    const reasons = new Set<string>();
    const erased = store.erase(
      { projectId: project, filter: { distinctIds: texts } },
      { onWait: (why) => reasons.add(why) },
    );
    try {
      await expect.poll(() => [...reasons].join('\n')).toContain(`${last?.host} does not answer`);
    } finally {
      startClickhouse(homeOf(last));
    }
    await erased;
    expect(await copies(`project_id = ${project} AND distinct_id NOT LIKE 'user-%'`)).toBe(0);
    expect(await copies(`project_id = ${project}`)).toBe(3 * 200);
    for (const { host } of servers.flat()) {
      const hex = texts.map((text) => `position(command, '${Buffer.from(text).toString('hex')}') > 0`).join(' OR ');
      expect(await askReplica(access, host, `SELECT count() FROM system.mutations WHERE ${hex}`)).toBe('0');
      const inactive = `SELECT count() FROM system.parts WHERE database = currentDatabase() AND table = 'events_local' AND NOT active`;
      await expect.poll(() => askReplica(access, host, inactive)).toBe('0');
    }
    await untilCaughtUp();
  });

  it('expired events are removed while the preferred replica hangs, and from it once it is back', async () => {
    const project = newProject();
    const day = Date.parse('2014-05-02') / 86_400_000;
    await insertRows(store, `old-${project}`, rowsOf(project, { keyDay: day, timestampMicros: day * 86_400_000_000 }));
    const mixed = ['expired', 'kept'].flatMap((event) =>
      rowsOf(project, { event, keyDay: day + 31, timestampMicros: (day + 31) * 86_400_000_000 }),
    );
    await insertRows(store, `mixed-${project}`, mixed);
    await untilCaughtUp();
    const since = BigInt(Date.parse('2015-01-01')) * 1000n;
    const none = { live: null, historical: null };
    const whole = { projectId: project, keptSince: { live: since, historical: since }, events: [] };
    const part = {
      projectId: project,
      keptSince: none,
      events: [{ event: 'expired', live: since, historical: since }],
    };
    signalClickhouse(homeOf(preferred), 'SIGSTOP');
    try {
      const months = [await store.removeExpired(201_405, [whole]), await store.removeExpired(201_406, [part])];
      expect(months.reduce((sum, { droppedRows, deletedRows }) => sum + droppedRows + deletedRows, 0)).toBe(400);
      expect(await countRows(store, project)).toEqual({ all: 200, shown: 200 });
    } finally {
      signalClickhouse(homeOf(preferred), 'SIGCONT');
    }
    await expect.poll(() => copies(`project_id = ${project}`)).toBe(3 * 200);
    await untilCaughtUp();
    const counted = await countEvents(store, project, 'month', {});
    expect(counted.map(({ event, count }) => [event, count])).toEqual([['kept', 200]]);
  });

  it('an export, counts for an erasure and shapes of events are exact while the preferred replica is killed and returns', async () => {
    const project = newProject();
    const properties = '{"n":1234567890123456789,"text":"é \\"quoted\\"","seen":true}';
    const rows = Array.from({ length: 2500 }, (_, i) => {
      const keyDay = 19_700 + (i % 90);
      return testRow(project, {
        keyDay,
        distinctId: `user-${i % 97}`,
        event: i % 2 === 0 ? "it's" : 'seen',
        properties,
      });
    });
    await insertRows(store, `export-${project}`, rows);
    // Copies that arrived later are hidden by the first ones.
    const receivedAtMicros = 1_760_000_000_000_000;
    const again = rows.slice(0, 300).map((row) => testRow(project, Object.assign({}, row, { receivedAtMicros })));
    await insertRows(store, `copies-${project}`, again);
    await untilCaughtUp();
    const filter = { distinctIds: ['user-3', 'user-4'] };
    const theirs = rows.filter(({ distinctId }) => filter.distinctIds.includes(distinctId)).length;
    const events = { projectId: project, filter: {}, receivedBefore: 2_000_000_000_000_000n, withoutRuns: [] };
    const exported: string[] = [];
    const exportPart = async (after: EventPlace | undefined): Promise<EventPlace | undefined> => {
      let from = after;
      for (const to of await planPart(store, events, after, { rows: 300, bytes: 1_000_000 })) {
        exported.push(...(await readPage(store, events, from, to)).map((row) => `${row.uuid_text} ${row.properties}`));
        from = to;
      }
      return from === after ? undefined : from;
    };
    const checkCounts = async (): Promise<void> => {
      expect(await countMatched(store, { projectId: project, filter })).toMatchObject({ events: theirs });
      const shapes = await eventShapes(store, project, { before: 1_900_000_000_000_000n }, limits);
      expect(shapes).toMatchObject({ total: 2800, sampled: 2800, moreEvents: 0 });
      expect(shapes.events.map(({ name }) => name).toSorted()).toEqual(["it's", 'seen']);
      expect(shapes.events[0]?.properties).toContainEqual(
        expect.objectContaining({ name: 'n', count: 1400, types: { integer: 1400 } }),
      );
    };
    let place = await exportPart(await exportPart(undefined));
    await killClickhouse(homeOf(preferred));
    try {
      place = await exportPart(await exportPart(place));
      await checkCounts();
    } finally {
      startClickhouse(homeOf(preferred));
    }
    while (place !== undefined) place = await exportPart(place);
    expect(exported.toSorted()).toEqual(rows.map((row) => `${row.uuid} ${properties}`).toSorted());
    await untilCaughtUp();
    await checkCounts();
  });

  it('an insert that begins while Keeper is away is stored once when it is back, and events are read in the meantime', async () => {
    const project = newProject();
    await insertRows(store, `kept-${project}`, rowsOf(project));
    await untilCaughtUp();
    const home = process.env.CLICKHOUSE_KEEPER_HOME ?? '';
    await killClickhouse(home);
    const insert = (): Promise<void> => insertRows(store, `keeper-${project}`, rowsOf(project, { event: 'waited' }));
    const inserted = insert().catch(insert);
    try {
      await sleep(keeperAwayMs);
      expect((await countRows(store, project)).shown).toBe(200);
      await expect.poll(() => store.health()).toMatchObject({ ok: false, detail: expect.stringContaining('Keeper') });
    } finally {
      startClickhouse(home);
    }
    await inserted;
    expect(await countRows(store, project)).toEqual({ all: 400, shown: 400 });
    await untilCaughtUp();
  });

  it.skipIf(!canMount())(
    'events are stored while the disk of the preferred replica is full, and it catches up later',
    async () => {
      const project = newProject();
      const home = homeOf(preferred);
      await untilCaughtUp();
      await fillDisk(home, 2_000_000);
      // About 300 kB after compression.
      const large = (event: string): EventRow[] =>
        Array.from({ length: 200 }, (_, i) => {
          const properties = JSON.stringify({ text: randomBytes(1500).toString('hex') });
          return testRow(project, { distinctId: `user-${i}`, event, properties });
        });
      try {
        await expect.poll(() => stateOfReplicas(access)).toBe('');
        // More than the disk has left.
        for (let at = 0; at < 10; at++) await insertRows(store, `full-${project}-${at}`, large(`e${at}`));
        // Reads prefer the full one until it is ten seconds behind.
        await expect.poll(() => countRows(store, project)).toEqual({ all: 2000, shown: 2000 });
        expect((await store.health()).ok).toBe(true);
      } finally {
        await freeDisk(home);
      }
      await untilCaughtUp();
      expect(await copies(`project_id = ${project}`)).toBe(3 * 2000);
    },
  );

  it('events are stored and read while a server without its disk runs, which has all of them once it is replaced', async () => {
    const project = newProject();
    await insertRows(store, `before-${project}`, rowsOf(project));
    await killClickhouse(homeOf(preferred));
    rmSync(join(homeOf(preferred), 'data'), { recursive: true });
    startClickhouse(homeOf(preferred));
    const answers = (): Promise<string> =>
      askReplica({ ...access, database: 'default' }, preferred?.host ?? '', 'SELECT 1');
    await expect.poll(() => answers().catch(String)).toBe('1');
    await insertRows(store, `without-${project}`, rowsOf(project, { event: 'without a disk' }));
    expect(await countRows(store, project)).toEqual({ all: 400, shown: 400 });
    expect(await store.health()).toEqual({ ok: true, detail: '' });
    const later = await connect();
    await insertRows(later, `later-${project}`, rowsOf(project, { event: 'by a process that starts' }));
    await later.close();
    await replaceReplica(access, 0, 0);
    await untilCaughtUp();
    expect(await copies(`project_id = ${project}`)).toBe(3 * 600);
    expect(await countRows(store, project)).toEqual({ all: 600, shown: 600 });
  });
});
