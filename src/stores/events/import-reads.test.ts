import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  identityKey,
  importedCounts,
  importedEvents,
  placesWithoutRuns,
  storedOnDay,
  type IdentityKey,
} from './import-reads.ts';
import { EventRowWriter } from './rows.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';

const day = '2024-03-01';
const dayStart = Date.parse(`${day}T00:00:00Z`) * 1000;
const keyDay = dayStart / 86_400_000_000;

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const uuidOf = (n: number): string => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}`;

interface Row {
  readonly n: number;
  readonly event?: string;
  readonly run?: string;
  readonly id?: string;
  readonly projectId?: number;
  readonly keyDay?: number;
  readonly properties?: string;
}

async function store(rows: readonly Row[], token: string): Promise<void> {
  const writer = new EventRowWriter();
  for (const row of rows) {
    writer.write({
      projectId: row.projectId ?? 1,
      historical: true,
      receivedAtMicros: dayStart,
      timestampMicros: dayStart + row.n * 1001,
      keyDay: row.keyDay ?? keyDay,
      uuid: uuidOf(row.n),
      event: row.event ?? 'paid',
      distinctId: row.id ?? `p-${row.n % 7}-é`,
      properties:
        row.properties ?? JSON.stringify(row.run === undefined ? { a: 1 } : { a: 1, $import_run_id: row.run }),
    });
  }
  await chdb.store.insertBatch(writer.take(), token);
}

function checksumOf(rows: readonly Row[]): string {
  let sum = 0n;
  for (const { n } of rows) {
    const text = `${uuidOf(n)}\0p-${n % 7}-é\0${dayStart + n * 1001}`;
    sum ^= createHash('md5').update(text).digest().readBigUInt64LE(0);
  }
  return sum.toString(16).padStart(16, '0');
}

/** Removes the run's mark at the end of the properties, and their last brace. */
function crcContentOf(rows: readonly Row[]): string {
  let sum = 0n;
  const crc = BigInt(crc32('{"a":1'));
  const lower = (value: bigint): bigint => BigInt.asUintN(32, value);
  for (const row of rows) {
    const identity = BigInt(`0x${checksumOf([row])}`);
    const [low, high] = [lower(identity), identity >> 32n];
    sum ^= lower((crc ^ low) * (high | 1n)) | (lower((crc ^ high) * (low | 1n)) << 32n);
  }
  return sum.toString(16).padStart(16, '0');
}

/** Removes the run's mark at the end of the properties. */
function md5ContentOf(rows: readonly Row[]): string {
  let sum = 0n;
  for (const { n } of rows)
    sum ^= createHash('md5')
      .update(`${uuidOf(n)}\0{"a":1}`)
      .digest()
      .readBigUInt64LE(0);
  return sum.toString(16).padStart(16, '0');
}

describe('reads of imported events', () => {
  const mine = Array.from({ length: 50 }, (_, n) => ({ n, run: 'run-a' }));
  beforeAll(async () => {
    await store(mine, 'a');
    // The same events in another batch count once.
    await store(mine.slice(10, 30), 'b');
    await store(
      [
        { n: 100, run: 'run-b' },
        { n: 101 },
        { n: 102, run: 'run-a', event: 'left' },
        { n: 103, run: 'run-a', projectId: 2 },
        { n: 104, run: 'run-a', keyDay: keyDay + 1 },
      ],
      'c',
    );
  });

  it('counts and sums the events of one run, of some days and of a project, each once', async () => {
    const counts = await importedCounts(chdb.store, 1, { run: 'run-a', from: day, to: day }, 'crc32');
    expect(counts.map(({ event, count }) => [event, count])).toEqual([
      ['left', 1],
      ['paid', 50],
    ]);
    expect(counts[1]?.checksum).toBe(checksumOf(mine));
    expect(counts[1]?.content).toBe(crcContentOf(mine));
    const [, earlier] = await importedCounts(chdb.store, 1, { run: 'run-a', from: day, to: day }, 'md5');
    expect(earlier).toEqual({ ...counts[1], content: md5ContentOf(mine) });
    const both = await importedCounts(chdb.store, 1, { run: 'run-a', from: '2024-02-01', to: '2024-03-02' }, 'crc32');
    const [next] = [{ n: 104, run: 'run-a' }];
    const nextDay = { day: '2024-03-02', event: 'paid', count: 1, checksum: checksumOf([next]) };
    expect(both).toEqual([...counts, { ...nextDay, content: crcContentOf([next]) }]);
    expect(
      await importedCounts(chdb.store, 1, { run: 'run-a', from: '2024-03-03', to: '2024-03-04' }, 'crc32'),
    ).toEqual([]);
  });

  it('finds the run of an event whose numbers the engine cannot read', async () => {
    const run = 'run-huge';
    const properties = `{"a":1e400,"$import_run_id":"${run}"}`;
    await store([{ n: 200, event: 'huge', properties }], 'huge');
    const [count] = await importedCounts(chdb.store, 1, { run, from: day, to: day }, 'crc32');
    expect(count).toMatchObject({ event: 'huge', count: 1 });
    const { events } = await importedEvents(chdb.store, 1, { day, event: 'huge' }, { limit: 10, contents: 'crc32' });
    expect(events.map(({ runId }) => runId)).toEqual([run]);
  });

  it('lists every event with a name page by page, including those of other runs', async () => {
    const seen: string[] = [];
    let after: IdentityKey | undefined;
    do {
      const page = await importedEvents(chdb.store, 1, { day, event: 'paid', after }, { limit: 7, contents: 'crc32' });
      seen.push(...page.events.map(({ uuid, runId }) => `${uuid} ${runId}`));
      expect(page.events.length).toBeLessThanOrEqual(7);
      after = page.next;
    } while (after !== undefined);
    const expected = [...mine.map(({ n }) => `${uuidOf(n)} run-a`), `${uuidOf(100)} run-b`, `${uuidOf(101)} `];
    expect(seen.toSorted()).toEqual(expected.toSorted());
  });

  it('lists the events with a name on every day, page by page, with the day of their identity', async () => {
    const seen: string[] = [];
    let after: IdentityKey | undefined;
    do {
      const page = await importedEvents(chdb.store, 1, { event: 'paid', after }, { limit: 7, contents: 'crc32' });
      seen.push(...page.events.map(({ uuid, day: on }) => `${uuid} ${on}`));
      after = page.next;
    } while (after !== undefined);
    const onDay = [...mine.map(({ n }) => n), 100, 101].map((n) => `${uuidOf(n)} ${day}`);
    expect(seen.toSorted()).toEqual([...onDay, `${uuidOf(104)} 2024-03-02`].toSorted());
  });

  it('lists where events remain when runs are undone, including those hidden by a row of such a run', async () => {
    const link = { event: 'link', run: 'gone' };
    await store(
      [
        { ...link, n: 300 },
        { ...link, n: 301 },
        { n: 302, event: 'link' },
        { ...link, n: 304 },
      ],
      'links',
    );
    await store(
      [
        { n: 301, event: 'link' },
        { n: 303, event: 'link', run: 'stays', keyDay: keyDay + 1 },
        { ...link, n: 304, run: 'gone-too' },
      ],
      'links-again',
    );
    const seen: string[] = [];
    let after: IdentityKey | undefined;
    do {
      const page = await placesWithoutRuns(chdb.store, 1, { event: 'link', runs: ['gone', 'gone-too'], after }, 2);
      seen.push(...page.events.map(({ uuid, day: on }) => `${uuid} ${on}`));
      after = page.next;
    } while (after !== undefined);
    expect(seen.toSorted()).toEqual([`${uuidOf(301)} ${day}`, `${uuidOf(302)} ${day}`, `${uuidOf(303)} 2024-03-02`]);
  });

  it('returns which identities are stored', async () => {
    const known = { uuid: uuidOf(3), event: 'paid', distinctId: 'p-3-é' };
    const asked = [known, { ...known, uuid: uuidOf(9999) }, { ...known, distinctId: 'another id' }];
    const stored = await storedOnDay(chdb.store, 1, day, asked);
    expect(asked.map((each) => stored.has(identityKey(each)))).toEqual([true, false, false]);
  });
});
