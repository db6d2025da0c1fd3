import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventStore } from '../../../src/stores/events/eventstore.ts';
import type { KeptSince, ProjectExpiry } from '../../../src/stores/events/expired-rows.ts';
import type { EventRow } from '../../../src/stores/events/rows.ts';
import { createDraw } from '../../support/draw.ts';
import { countRows, dayMicros, insertRows, newProject, testRow, type StoreUnderTest } from './event-store.ts';

/** The promises of `removeExpired`. */
export function expiryConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`event store conformance, expiry: ${name}`, () => {
    let under: StoreUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => under.close());
    removalTests(() => under.store);
    refusalTests(() => under.store);
  });
}

const day = (text: string): number => Date.parse(text) / 86_400_000;
const micros = (text: string): bigint => BigInt(Date.parse(text)) * 1000n;
const before = (text: string): KeptSince => ({ live: micros(text), historical: micros(text) });
const nothing = { droppedRows: 0, droppedParts: 0, deletedRows: 0, bytes: 0 };
const names = ['$pageview', 'it\'s \\ "quoted"', "') OR 1=1 --", '鞋 👟', 'tab\there', '0', '9007199254740993001'];

function expiryOf(projectId: number, keptSince: KeptSince, events: ProjectExpiry['events'] = []): ProjectExpiry {
  return { projectId, keptSince, events };
}

/** The rule, written apart: whether the row has expired. */
function isExpired(row: EventRow, expiries: readonly ProjectExpiry[]): boolean {
  const expiry = expiries.find(({ projectId }) => projectId === row.projectId);
  if (expiry === undefined) return false;
  const kept = expiry.events.find(({ event }) => event === row.event) ?? expiry.keptSince;
  const since = row.historical ? kept.historical : kept.live;
  return since !== null && BigInt(row.timestampMicros) < since;
}

async function uuidsOf(store: EventStore, project: number): Promise<string[]> {
  const sql = 'SELECT toString(uuid) AS u FROM events WHERE project_id = {project:Int32} ORDER BY u';
  return (await store.query<{ u: string }>(sql, { project })).map(({ u }) => u);
}

function removalTests(store: () => EventStore): void {
  it('removes what an independent rule says has expired, and no other row', async () => {
    const [one, two, other] = [newProject(), newProject(), newProject()];
    const draw = createDraw(32);
    const from = day('2024-03-01');
    const rows = Array.from({ length: 3000 }, () => {
      const keyDay = from + draw.int(92);
      const timestampMicros = keyDay * dayMicros + draw.int(86_400) * 1_000_000;
      const event = draw.pick(names);
      const projectId = draw.pick([one, two, other]);
      return testRow(projectId, { keyDay, timestampMicros, event, historical: draw.chance(0.5) });
    });
    for (let at = 0; at < 3; at++) {
      await insertRows(store(), `expiry-${one}-${at}`, rows.slice(at * 1000, (at + 1) * 1000));
    }
    const expiries = [
      expiryOf(one, { live: micros('2024-04-15'), historical: null }, [
        { event: names[1] ?? '', live: null, historical: null },
        { event: names[2] ?? '', ...before('2024-06-01') },
        { event: names[3] ?? '', live: null, historical: micros('2024-03-10') },
        { event: 'never stored', ...before('2024-06-01') },
      ]),
      expiryOf(two, { live: null, historical: micros('2024-05-05T12:00:00Z') }),
    ];
    let removed = 0;
    for (const month of [202_403, 202_404, 202_405]) {
      const result = await store().removeExpired(month, expiries);
      removed += result.droppedRows + result.deletedRows;
    }
    for (const project of [one, two, other]) {
      const kept = rows.filter((row) => row.projectId === project && !isExpired(row, expiries));
      expect(await uuidsOf(store(), project)).toEqual(kept.map(({ uuid }) => uuid).toSorted());
    }
    expect(removed).toBe(rows.filter((row) => isExpired(row, expiries)).length);
    expect(await store().removeExpired(202_404, expiries)).toEqual(nothing);
  });

  it('drops the parts of a month of which all rows have expired, and rewrites none', async () => {
    const [one, two] = [newProject(), newProject()];
    const month = [one, two, one].map((project) => testRow(project, { keyDay: day('2019-07-10') }));
    const next = testRow(one, { keyDay: day('2019-08-01') });
    for (const [at, row] of [...month, next].entries()) await insertRows(store(), `whole-${one}-${at}`, [row]);
    const expiries = [expiryOf(one, before('2019-08-01')), expiryOf(two, before('2019-08-01'))];
    const removed = await store().removeExpired(201_907, expiries);
    expect(removed).toMatchObject({ droppedRows: 3, deletedRows: 0 });
    expect(removed.droppedParts).toBeGreaterThan(0);
    expect(removed.bytes).toBeGreaterThan(0);
    expect(await store().removeExpired(201_907, expiries)).toEqual(nothing);
    expect(await uuidsOf(store(), one)).toEqual([next.uuid]);
    expect(await uuidsOf(store(), two)).toEqual([]);
  });

  it('keeps the rows of another project in the same part', async () => {
    const [one, two] = [newProject(), newProject()];
    const rows = [one, two].map((project) => testRow(project, { keyDay: day('2018-01-10') }));
    await insertRows(store(), `shared-${one}`, rows);
    const removed = await store().removeExpired(201_801, [expiryOf(one, before('2019-01-01'))]);
    // On a cluster the two may be on different shards.
    expect(removed.droppedRows + removed.deletedRows).toBe(1);
    expect(await uuidsOf(store(), two)).toEqual([rows[1]?.uuid]);
    expect(await uuidsOf(store(), one)).toEqual([]);
  });

  it('decides by the time of the event, not by the day of its client', async () => {
    const project = newProject();
    const corrected = testRow(project, {
      keyDay: day('2018-02-10'),
      timestampMicros: Number(micros('2026-02-10')),
    });
    const wrong = testRow(project, { keyDay: day('2018-02-10') });
    await insertRows(store(), `clock-${project}`, [corrected, wrong]);
    await store().removeExpired(201_802, [expiryOf(project, before('2020-01-01'))]);
    expect(await uuidsOf(store(), project)).toEqual([corrected.uuid]);
  });

  it('loses no row that is inserted during a removal', async () => {
    const project = newProject();
    const old = { keyDay: day('2017-05-02') };
    const kept: string[] = [];
    const stop = new AbortController();
    const insert = async (): Promise<void> => {
      for (let at = 0; !stop.signal.aborted || at < 5; at++) {
        const rows = [testRow(project, { ...old, event: 'expired' }), testRow(project, { ...old, event: 'kept' })];
        await insertRows(store(), `race-${project}-${at}`, at % 2 === 0 ? rows : rows.slice(1));
        kept.push(rows[1]?.uuid ?? '');
      }
    };
    const inserting = insert();
    const expiries = [
      expiryOf(project, { live: null, historical: null }, [{ event: 'expired', ...before('2020-01-01') }]),
    ];
    try {
      for (let times = 0; times < 5; times++) await store().removeExpired(201_705, expiries);
    } finally {
      stop.abort();
      await inserting;
    }
    await store().removeExpired(201_705, expiries);
    expect(await uuidsOf(store(), project)).toEqual(kept.toSorted());
  });

  it('stores removed rows again with a separate token', async () => {
    const project = newProject();
    const row = testRow(project, { keyDay: day('2016-05-02'), uuid: randomUUID() });
    await insertRows(store(), `removed-${project}`, [row]);
    await store().removeExpired(201_605, [expiryOf(project, before('2020-01-01'))]);
    await insertRows(store(), `back-${project}`, [row]);
    expect(await countRows(store(), project)).toEqual({ all: 1, shown: 1 });
  });
}

function refusalTests(store: () => EventStore): void {
  it('removes nothing without an expiry, or if all is kept', async () => {
    const project = newProject();
    await insertRows(store(), `kept-${project}`, [testRow(project, { keyDay: day('2015-05-02') })]);
    expect(await store().removeExpired(201_505, [])).toEqual(nothing);
    const all = expiryOf(project, { live: null, historical: null }, [{ event: 'a', live: null, historical: null }]);
    expect(await store().removeExpired(201_505, [all])).toEqual(nothing);
    expect(await countRows(store(), project)).toEqual({ all: 1, shown: 1 });
  });

  it.each([0, 2024, 202_400.5, Number.NaN])('refuses the month %s', async (month) => {
    const removal = async () => await store().removeExpired(month, [expiryOf(1, before('2020-01-01'))]);
    await expect(removal()).rejects.toThrow(/a month such as 202403/);
  });
}
