import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  lanes,
  type Backlog,
  type EventLogReader,
  type EventLogWriter,
  type Lane,
  type LogRecord,
  type ReadLimits,
  type RecordHeader,
  type StoredRecord,
} from '../../../src/log/eventlog.ts';
import type { SharedReaderDeps } from '../../../src/log/shared-log.ts';

export interface OpenedLog {
  readonly writer: EventLogWriter;
  readonly reader: EventLogReader;
  /** Removes the log's data after writer and reader were closed. */
  dispose(): Promise<void>;
}

/** Longer than a test may take, so that only an event can end the wait. */
const longMs = 3_600_000;
export const noLimits: ReadLimits = { events: Infinity, bytes: Infinity };

export function header(requestId: string, events = 1): RecordHeader {
  return { projectId: 1, receivedAt: 1_760_000_000_000, encoding: 'identity', events, requestId };
}

/** Returns a record identified by its body. */
export function record(name: string, events = 1): LogRecord {
  return { header: header(name, events), body: new TextEncoder().encode(name) };
}

/** Returns bodies of intact records as text. Throws for a damaged one. */
export function texts(records: readonly StoredRecord[]): string[] {
  return records.map((found) => {
    if (found.damaged !== undefined) throw new Error(`expected an intact record, got: ${found.damaged}`);
    return new TextDecoder().decode(found.body);
  });
}

/** Expects the backlog, which a log shared by several processes may know a second later. */
async function expectBacklog(writer: EventLogWriter, lane: Lane, expected: Backlog): Promise<void> {
  await expect.poll(() => writer.backlog(lane), { interval: 10 }).toEqual(expected);
}

async function expectBacklogOf(writer: EventLogWriter, projectId: number, events: number): Promise<void> {
  await expect.poll(() => writer.backlogOf('live', projectId).events, { interval: 10 }).toBe(events);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** The promises of every event log, tested through the port on a real adapter. */
export function describeEventLog(name: string, open: () => Promise<OpenedLog>): void {
  describe(`${name}: event log`, () => {
    let log: OpenedLog;
    beforeEach(async () => {
      log = await open();
    });
    afterEach(async () => {
      await log.reader.close();
      await log.writer.close();
      await log.dispose();
    });
    const opened = () => log;
    describeAppendAndRead(opened, open);
    describeLimits(opened);
    describeCommit(opened);
    describeWaiting(opened);
    describeBodies(opened);
  });
}

function describeAppendAndRead(log: () => OpenedLog, openAnother: () => Promise<OpenedLog>): void {
  it('an empty log returns nothing', async () => {
    for (const lane of lanes) {
      expect(await log().reader.read(lane, 0, noLimits)).toEqual([]);
      expect(log().writer.backlog(lane)).toEqual({ records: 0, events: 0, bytes: 0 });
    }
  });

  it('records are returned in order of seq, with unchanged header and body', async () => {
    const full: RecordHeader = { ...header('r-1', 7), sentAt: 1_760_000_000_123, ip: '2001:db8::1', encoding: 'gzip' };
    const first = await log().writer.append('live', { header: full, body: new Uint8Array([0, 255, 10, 10]) }, 0);
    const second = await log().writer.append('live', record('b'), 0);
    const third = await log().writer.append('live', record('c'), 0);
    expect(first).toBeGreaterThan(0);
    expect([second, third]).toEqual([second, third].sort((a, b) => a - b));
    const found = await log().reader.read('live', 0, noLimits);
    expect(found.map(({ seq }) => seq)).toEqual([first, second, third]);
    expect(found[0]).toMatchObject({ header: full });
    expect(found[0]?.damaged).toBeUndefined();
    expect(texts(found.slice(1))).toEqual(['b', 'c']);
    expect(texts(await log().reader.read('live', second, noLimits))).toEqual(['c']);
    expect(await log().reader.read('live', third, noLimits)).toEqual([]);
  });

  it('has an identity that no other log has', async () => {
    const { id } = log().reader;
    expect(id).toMatch(/^[A-Za-z0-9-]{8,36}$/);
    const other = await openAnother();
    expect(other.reader.id).not.toBe(id);
    await other.reader.close();
    await other.writer.close();
    await other.dispose();
  });

  it('returns the last seq of a lane, even if everything is committed', async () => {
    const { writer, reader } = log();
    expect([await writer.end('live', 0), await writer.end('historical', 0)]).toEqual([0, 0]);
    await writer.append('live', record('a'), 0);
    const last = await writer.append('live', record('b'), 0);
    expect([await writer.end('live', 0), await writer.end('historical', 0)]).toEqual([last, 0]);
    reader.commit('live', last);
    expect(await writer.end('live', 0)).toBe(last);
  });

  it('lanes are separate', async () => {
    const live = await log().writer.append('live', record('now', 2), 0);
    await log().writer.append('historical', record('then', 3), 0);
    expect(texts(await log().reader.read('live', 0, noLimits))).toEqual(['now']);
    expect(texts(await log().reader.read('historical', 0, noLimits))).toEqual(['then']);
    log().reader.commit('live', live);
    await expectBacklog(log().writer, 'live', { records: 0, events: 0, bytes: 0 });
    await expectBacklog(log().writer, 'historical', { records: 1, events: 3, bytes: 4 });
  });

  it('with 64 concurrent writers every record is readable exactly once, and each writer keeps its order', async () => {
    const perWriter = 25;
    const seqs: number[] = [];
    await Promise.all(
      Array.from({ length: 64 }, async (_, writer) => {
        for (let n = 0; n < perWriter; n += 1) {
          seqs.push(await log().writer.append('live', record(`${writer}:${n}`), 0));
        }
      }),
    );
    const found = await log().reader.read('live', 0, noLimits);
    expect(new Set(seqs).size).toBe(64 * perWriter);
    expect(found.map(({ seq }) => seq)).toEqual(seqs.sort((a, b) => a - b));
    const all = texts(found);
    for (let writer = 0; writer < 64; writer += 1) {
      const own = all.filter((text) => text.startsWith(`${writer}:`));
      expect(own).toEqual(Array.from({ length: perWriter }, (_, n) => `${writer}:${n}`));
    }
  });

  it('concurrent appends are numbered in the order of the calls', async () => {
    const seqs = await Promise.all(
      Array.from({ length: 50 }, (_, n) => log().writer.append('live', record(String(n)), 0)),
    );
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    const found = texts(await log().reader.read('live', 0, noLimits));
    expect(found).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
  });
}

function describeLimits(log: () => OpenedLog): void {
  const cases: { title: string; limits: Partial<ReadLimits>; want: string[] }[] = [
    { title: 'the record that reaches the event limit is the last', limits: { events: 3 }, want: ['a1', 'b2'] },
    { title: 'a record may exceed the event limit', limits: { events: 2 }, want: ['a1', 'b2'] },
    { title: 'the record that reaches the byte limit is the last', limits: { bytes: 5 }, want: ['a1', 'b2', 'c3'] },
    { title: 'at least one record is returned for any limits', limits: { events: 0, bytes: 0 }, want: ['a1'] },
    { title: 'everything is returned if no limit is reached', limits: {}, want: ['a1', 'b2', 'c3', 'd4'] },
  ];
  it.each(cases)('$title', async ({ limits, want }) => {
    for (const [index, text] of ['a1', 'b2', 'c3', 'd4'].entries()) {
      await log().writer.append('live', record(text, index + 1), 0);
    }
    expect(texts(await log().reader.read('live', 0, { ...noLimits, ...limits }))).toEqual(want);
  });

  it('nothing beyond lastSeq is returned, so that a range can be repeated exactly', async () => {
    const seqs: number[] = [];
    for (const text of ['a', 'b', 'c']) seqs.push(await log().writer.append('live', record(text), 0));
    const [first = 0, second = 0] = seqs;
    const range = { ...noLimits, lastSeq: second };
    expect(texts(await log().reader.read('live', 0, range))).toEqual(['a', 'b']);
    await log().writer.append('live', record('d'), 0);
    expect(texts(await log().reader.read('live', 0, range))).toEqual(['a', 'b']);
    expect(texts(await log().reader.read('live', first, range))).toEqual(['b']);
    expect(await log().reader.read('live', second, range)).toEqual([]);
  });
}

function describeCommit(log: () => OpenedLog): void {
  it('the backlog of a project is counted separately and shrinks with a commit', async () => {
    const { writer, reader } = log();
    const of = (projectId: number, name: string, events: number): LogRecord => {
      const { header: own, body } = record(name, events);
      return { header: { ...own, projectId }, body };
    };
    const first = await writer.append('live', of(1, 'one', 10), 0);
    await writer.append('live', of(2, 'two', 20), 0);
    await writer.append('live', of(1, 'three', 30), 0);
    await writer.append('historical', of(2, 'four', 40), 0);
    await expectBacklogOf(writer, 1, 40);
    expect(writer.backlogOf('live', 2)).toEqual({ records: 1, events: 20, bytes: 3 });
    expect(writer.backlogOf('live', 3)).toEqual({ records: 0, events: 0, bytes: 0 });
    reader.commit('live', first);
    await expectBacklogOf(writer, 1, 30);
    await expectBacklogOf(writer, 2, 20);
  });

  it('uncommitted records stay readable, and a commit shrinks the backlog', async () => {
    const first = await log().writer.append('live', record('one', 10), 0);
    const second = await log().writer.append('live', record('three', 20), 0);
    await expectBacklog(log().writer, 'live', { records: 2, events: 30, bytes: 8 });
    log().reader.commit('live', first);
    await expectBacklog(log().writer, 'live', { records: 1, events: 20, bytes: 5 });
    expect(texts(await log().reader.read('live', first, noLimits))).toEqual(['three']);
    log().reader.commit('live', second);
    await expectBacklog(log().writer, 'live', { records: 0, events: 0, bytes: 0 });
  });

  it('committing again, or less than before, changes nothing', async () => {
    const seqs: number[] = [];
    for (const text of ['a', 'b', 'c']) seqs.push(await log().writer.append('live', record(text), 0));
    const [first = 0, second = 0, third = 0] = seqs;
    for (const seq of [second, second, first]) log().reader.commit('live', seq);
    await expect.poll(() => log().writer.backlog('live').records, { interval: 10 }).toBe(1);
    expect((await log().reader.read('live', second, noLimits)).map(({ seq }) => seq)).toEqual([third]);
  });

  it('seqs continue above all used ones when everything is committed', async () => {
    const first = await log().writer.append('live', record('a'), 0);
    log().reader.commit('live', first);
    const second = await log().writer.append('live', record('b'), 0);
    expect(second).toBeGreaterThan(first);
    expect(texts(await log().reader.read('live', first, noLimits))).toEqual(['b']);
  });
}

function describeWaiting(log: () => OpenedLog): void {
  it('a wait ends at its time limit without appends', async () => {
    // The wait may end early because a new log cannot be read yet; a read waits until it can.
    for (const lane of lanes) await log().reader.read(lane, 0, noLimits);
    const start = performance.now();
    await log().reader.waitForAppend(60);
    expect(performance.now() - start).toBeGreaterThanOrEqual(50);
  });

  it('an append ends a wait', async () => {
    const waiting = log().reader.waitForAppend(longMs);
    await log().writer.append('historical', record('a'), 0);
    await waiting;
    expect(texts(await log().reader.read('historical', 0, noLimits))).toEqual(['a']);
  });

  it('an append between a read and a wait is not missed', async () => {
    await log().reader.read('live', 0, noLimits);
    await log().writer.append('live', record('a'), 0);
    await log().reader.read('historical', 0, noLimits);
    await expect(log().reader.waitForAppend(longMs)).resolves.toBeUndefined();
  });

  it('closing ends a wait', async () => {
    const waiting = log().reader.waitForAppend(longMs);
    await log().reader.close();
    await expect(waiting).resolves.toBeUndefined();
  });

  it('a closed writer refuses appends', async () => {
    await log().writer.close();
    await expect(log().writer.append('live', record('a'), 0)).rejects.toMatchObject({ name: 'LogUnavailableError' });
  });
}

function describeBodies(log: () => OpenedLog): void {
  const bodies: { title: string; make: () => Uint8Array }[] = [
    { title: 'empty', make: () => new Uint8Array(0) },
    { title: 'one byte', make: () => new Uint8Array([0]) },
    { title: 'random 58 KB', make: () => new Uint8Array(randomBytes(58_000)) },
    { title: 'a pooled Buffer', make: () => Buffer.from('a small string in the pool') },
    { title: 'a part of a larger buffer', make: () => new Uint8Array(randomBytes(5000)).subarray(100, 300) },
    { title: 'shared memory', make: () => new Uint8Array(new SharedArrayBuffer(64)).fill(7) },
    { title: 'random 20 MB', make: () => new Uint8Array(randomBytes(20_971_520)) },
  ];
  it.each(bodies)('keeps the bytes unchanged: $title', async ({ make }) => {
    const body = make();
    const want = { hash: sha256(body), length: body.byteLength };
    await log().writer.append('live', { header: header('r'), body }, 0);
    const [found] = await log().reader.read('live', 0, noLimits);
    if (found === undefined || found.damaged !== undefined) throw new Error('expected one intact record');
    expect({ hash: sha256(found.body), length: found.body.byteLength }).toEqual(want);
  });

  it('other bytes in the same buffer stay with their owner', async () => {
    const whole = new Uint8Array([1, 2, 3, 4]);
    await log().writer.append('live', { header: header('r'), body: whole.subarray(0, 2) }, 0);
    expect([...whole]).toEqual([1, 2, 3, 4]);
  });
}

/** A log shared by processes, as one of them sees it: only its location is known. */
export interface SharedLog {
  readonly slots: number;
  /** Opens a writer as another process would. */
  openWriter(): Promise<EventLogWriter>;
  /** Opens a reader as another process with the slot would. */
  openReader(slot: number, deps?: Pick<SharedReaderDeps, 'expired'>): Promise<EventLogReader>;
  /** Removes the log's data after all of them were closed. */
  dispose(): Promise<void>;
}

/** Further promises of a log whose writers and readers are several processes. Requires at least 3 slots. */
export function describeSharedEventLog(name: string, open: () => Promise<SharedLog>): void {
  describe(`${name}: event log of several processes`, () => {
    let log: SharedLog;
    const opened: { close(): Promise<void> }[] = [];
    const writer = async (): Promise<EventLogWriter> => kept(await log.openWriter());
    const reader: OpenReader = async (...of) => kept(await log.openReader(...of));
    const kept = <T extends { close(): Promise<void> }>(part: T): T => {
      opened.push(part);
      return part;
    };
    beforeEach(async () => {
      log = await open();
    });
    afterEach(async () => {
      for (const part of opened.splice(0)) await part.close();
      await log.dispose();
    });
    describeSharedReading(writer, reader);
    describeSharedBacklog(writer, reader);
    describeExpiry(writer, reader);
  });
}

type OpenWriter = () => Promise<EventLogWriter>;
type OpenReader = SharedLog['openReader'];

function describeSharedReading(writer: OpenWriter, reader: OpenReader): void {
  it('a reader in another process reads what a writer appended, and continues from the position of another reader', async () => {
    const early = await reader(0);
    const from = await writer();
    const first = await from.append('live', record('a'), 0);
    await from.append('live', record('b'), 0);
    await from.close();
    expect(texts(await early.read('live', 0, noLimits))).toEqual(['a', 'b']);
    await early.close();
    const late = await reader(0);
    expect(late.id).toBe(early.id);
    expect(texts(await late.read('live', first, noLimits))).toEqual(['b']);
  });

  it('slots are separate', async () => {
    const to = await writer();
    const readers = [await reader(0), await reader(1), await reader(2)];
    for (const [slot, text] of [
      [1, 'b'],
      [2, 'c'],
      [1, 'bb'],
    ] as const) {
      await to.append('live', record(text), slot);
    }
    const found = await Promise.all(readers.map(async (each) => texts(await each.read('live', 0, noLimits))));
    expect(found).toEqual([[], ['b', 'bb'], ['c']]);
    expect(new Set(readers.map(({ id }) => id)).size).toBe(3);
    for (const { id } of readers) expect(id).toMatch(/^[A-Za-z0-9-]{8,36}$/);
    await readers[1]?.close();
    expect(texts((await readers[2]?.read('live', 0, noLimits)) ?? [])).toEqual(['c']);
  });

  it('a missing slot refuses appends', async () => {
    const to = await writer();
    await expect(to.append('live', record('a'), to.slots)).rejects.toThrow(RangeError);
    await expect(to.append('live', record('a'), -1)).rejects.toThrow(RangeError);
  });

  it('with two writers on one slot every record is readable exactly once, and each writer keeps its order', async () => {
    const writers = [await writer(), await writer()];
    await Promise.all(
      writers.flatMap((to, name) =>
        Array.from({ length: 100 }, async (_, n) => to.append('live', record(`${name}:${n}`), 0)),
      ),
    );
    const all = texts(await (await reader(0)).read('live', 0, noLimits));
    for (const name of writers.keys()) {
      const own = all.filter((text) => text.startsWith(`${name}:`));
      expect(own).toEqual(Array.from({ length: 100 }, (_, n) => `${name}:${n}`));
    }
  });

  it("an append by another process ends the wait of the slot's reader, in each lane", async () => {
    const [to, other] = [await writer(), await writer()];
    const readers = [await reader(0), await reader(1)];
    for (const lane of lanes) {
      const [first, second] = readers.map((each) => each.waitForAppend(longMs));
      await to.append(lane, record('a'), 0);
      await first;
      await other.append(lane, record('b'), 1);
      await second;
      for (const each of readers) expect(await each.read(lane, 0, noLimits)).toHaveLength(1);
    }
  });
}

function describeSharedBacklog(writer: OpenWriter, reader: OpenReader): void {
  const soon = { interval: 10 };

  it('a writer knows the backlog of others in all slots, and what their readers have committed', async () => {
    const [watching, working] = [await writer(), await writer()];
    const first = await working.append('live', record('a', 5), 0);
    await working.append('live', record('b', 5), 1);
    await expectBacklog(watching, 'live', { records: 2, events: 10, bytes: 2 });
    await expectBacklog(working, 'live', { records: 2, events: 10, bytes: 2 });
    expect(watching.backlog('historical')).toEqual({ records: 0, events: 0, bytes: 0 });
    (await reader(0)).commit('live', first);
    await expect.poll(() => watching.backlog('live').records, soon).toBe(1);
    await expect.poll(() => working.backlog('live').records, soon).toBe(1);
  });

  it('a writer that was just opened does not report an empty backlog', async () => {
    const to = await writer();
    for (const slot of [0, 1, 2]) await to.append('historical', record('four', 3), slot);
    await to.close();
    expect((await writer()).backlog('historical')).toEqual({ records: 3, events: 9, bytes: 12 });
  });
}

function describeExpiry(writer: OpenWriter, reader: OpenReader): void {
  it('records that are stored stay readable until they have expired', async () => {
    const to = await writer();
    for (const text of ['a', 'b', 'c']) await to.append('live', record(text), 0);
    for (const text of ['d', 'e']) await to.append('historical', record(text), 0);
    let through = 0;
    const rounds: unknown[] = [];
    const expired: SharedReaderDeps['expired'] = async (places) => {
      rounds.push(places);
      return places.flatMap((place) =>
        place.lane === 'live' && through > place.handled ? [{ ...place, seq: through }] : [],
      );
    };
    const from = await reader(0, { expired });
    from.commit('live', 3);
    from.commit('historical', 2);
    await expect.poll(() => rounds.length).toBeGreaterThan(2);
    const other = await reader(0);
    expect(texts(await other.read('live', 0, noLimits))).toEqual(['a', 'b', 'c']);
    through = 2;
    await expect.poll(async () => texts(await other.read('live', 0, noLimits))).toEqual(['c']);
    expect(texts(await other.read('historical', 0, noLimits))).toEqual(['d', 'e']);
    expect(rounds.at(0)).toEqual([
      { lane: 'live', slot: 0, seq: 3, handled: -1 },
      { lane: 'historical', slot: 0, seq: 2, handled: -1 },
    ]);
    through = 3;
    await expect.poll(async () => texts(await other.read('live', 0, noLimits))).toEqual([]);
  });
}
