import { createHash, randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  lanes,
  type EventLogReader,
  type EventLogWriter,
  type LogRecord,
  type ReadLimits,
  type RecordHeader,
  type StoredRecord,
} from './eventlog.ts';

export interface OpenedLog {
  readonly writer: EventLogWriter;
  readonly reader: EventLogReader;
  /** Removes what the log left behind, after writer and reader were closed. */
  dispose(): Promise<void>;
}

export const noLimits: ReadLimits = { events: Infinity, bytes: Infinity };

export function header(requestId: string, events = 1): RecordHeader {
  return { projectId: 1, receivedAt: 1_760_000_000_000, encoding: 'identity', events, requestId };
}

/** A record whose body says which one it is. */
export function record(name: string, events = 1): LogRecord {
  return { header: header(name, events), body: new TextEncoder().encode(name) };
}

/** Bodies of intact records as text; fails for a damaged one. */
export function texts(records: readonly StoredRecord[]): string[] {
  return records.map((found) => {
    if (found.damaged !== undefined) throw new Error(`expected an intact record, got: ${found.damaged}`);
    return new TextDecoder().decode(found.body);
  });
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** What every event log promises. Real: the adapter. Observed: only what the port shows. */
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
  it('an empty log gives nothing', async () => {
    for (const lane of lanes) {
      expect(await log().reader.read(lane, 0, noLimits)).toEqual([]);
      expect(log().writer.backlog(lane)).toEqual({ records: 0, events: 0, bytes: 0 });
    }
  });

  it('records come back in the order of their seqs, with header and body as they were', async () => {
    const full: RecordHeader = { ...header('r-1', 7), sentAt: 1_760_000_000_123, ip: '2001:db8::1', encoding: 'gzip' };
    const first = await log().writer.append('live', { header: full, body: new Uint8Array([0, 255, 10, 10]) });
    const second = await log().writer.append('live', record('b'));
    const third = await log().writer.append('live', record('c'));
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

  it('lanes are apart', async () => {
    const live = await log().writer.append('live', record('now', 2));
    await log().writer.append('historical', record('then', 3));
    expect(texts(await log().reader.read('live', 0, noLimits))).toEqual(['now']);
    expect(texts(await log().reader.read('historical', 0, noLimits))).toEqual(['then']);
    log().reader.commit('live', live);
    expect(log().writer.backlog('live')).toEqual({ records: 0, events: 0, bytes: 0 });
    expect(log().writer.backlog('historical')).toEqual({ records: 1, events: 3, bytes: 4 });
  });

  it('64 writers at once: every record is readable exactly once, and each writer keeps its order', async () => {
    const perWriter = 25;
    const seqs: number[] = [];
    await Promise.all(
      Array.from({ length: 64 }, async (_, writer) => {
        for (let n = 0; n < perWriter; n += 1) {
          seqs.push(await log().writer.append('live', record(`${writer}:${n}`)));
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

  it('appends that do not wait for each other are numbered in the order of the calls', async () => {
    const seqs = await Promise.all(
      Array.from({ length: 50 }, (_, n) => log().writer.append('live', record(String(n)))),
    );
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    const found = texts(await log().reader.read('live', 0, noLimits));
    expect(found).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
  });
}

function describeLimits(log: () => OpenedLog): void {
  const cases: { title: string; limits: Partial<ReadLimits>; want: string[] }[] = [
    { title: 'the record that reaches the number of events is the last', limits: { events: 3 }, want: ['a1', 'b2'] },
    { title: 'a record may go beyond the number of events', limits: { events: 2 }, want: ['a1', 'b2'] },
    { title: 'the record that reaches the bytes is the last', limits: { bytes: 5 }, want: ['a1', 'b2', 'c3'] },
    { title: 'at least one record comes, whatever the limits', limits: { events: 0, bytes: 0 }, want: ['a1'] },
    { title: 'no limit reached: everything', limits: {}, want: ['a1', 'b2', 'c3', 'd4'] },
  ];
  it.each(cases)('$title', async ({ limits, want }) => {
    for (const [index, text] of ['a1', 'b2', 'c3', 'd4'].entries()) {
      await log().writer.append('live', record(text, index + 1));
    }
    expect(texts(await log().reader.read('live', 0, { ...noLimits, ...limits }))).toEqual(want);
  });

  it('nothing beyond lastSeq comes, so that a range is read again exactly', async () => {
    const seqs: number[] = [];
    for (const text of ['a', 'b', 'c']) seqs.push(await log().writer.append('live', record(text)));
    const [first = 0, second = 0] = seqs;
    const range = { ...noLimits, lastSeq: second };
    expect(texts(await log().reader.read('live', 0, range))).toEqual(['a', 'b']);
    await log().writer.append('live', record('d'));
    expect(texts(await log().reader.read('live', 0, range))).toEqual(['a', 'b']);
    expect(texts(await log().reader.read('live', first, range))).toEqual(['b']);
    expect(await log().reader.read('live', second, range)).toEqual([]);
  });
}

function describeCommit(log: () => OpenedLog): void {
  it('what is not committed stays readable; a commit shrinks the backlog', async () => {
    const first = await log().writer.append('live', record('one', 10));
    const second = await log().writer.append('live', record('three', 20));
    expect(log().writer.backlog('live')).toEqual({ records: 2, events: 30, bytes: 8 });
    log().reader.commit('live', first);
    expect(log().writer.backlog('live')).toEqual({ records: 1, events: 20, bytes: 5 });
    expect(texts(await log().reader.read('live', first, noLimits))).toEqual(['three']);
    log().reader.commit('live', second);
    expect(log().writer.backlog('live')).toEqual({ records: 0, events: 0, bytes: 0 });
  });

  it('committing again, or less than before, changes nothing', async () => {
    const seqs: number[] = [];
    for (const text of ['a', 'b', 'c']) seqs.push(await log().writer.append('live', record(text)));
    const [first = 0, second = 0, third = 0] = seqs;
    for (const seq of [second, second, first]) log().reader.commit('live', seq);
    expect(log().writer.backlog('live').records).toBe(1);
    expect((await log().reader.read('live', second, noLimits)).map(({ seq }) => seq)).toEqual([third]);
  });

  it('seqs go on above everything used when all is committed', async () => {
    const first = await log().writer.append('live', record('a'));
    log().reader.commit('live', first);
    const second = await log().writer.append('live', record('b'));
    expect(second).toBeGreaterThan(first);
    expect(texts(await log().reader.read('live', first, noLimits))).toEqual(['b']);
  });
}

function describeWaiting(log: () => OpenedLog): void {
  it('waiting ends at the time limit when nothing comes', async () => {
    const start = performance.now();
    await log().reader.waitForAppend(60);
    expect(performance.now() - start).toBeGreaterThanOrEqual(50);
  });

  it('an append ends the waiting', async () => {
    const start = performance.now();
    const waiting = log().reader.waitForAppend(20_000);
    await log().writer.append('historical', record('a'));
    await waiting;
    expect(performance.now() - start).toBeLessThan(5000);
    expect(texts(await log().reader.read('historical', 0, noLimits))).toEqual(['a']);
  });

  it('an append between a read and the waiting is not missed', async () => {
    await log().reader.read('live', 0, noLimits);
    await log().writer.append('live', record('a'));
    await log().reader.read('historical', 0, noLimits);
    const start = performance.now();
    await log().reader.waitForAppend(20_000);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  it('closing ends the waiting', async () => {
    const start = performance.now();
    const waiting = log().reader.waitForAppend(20_000);
    await log().reader.close();
    await waiting;
    expect(performance.now() - start).toBeLessThan(5000);
  });

  it('a closed writer takes nothing more and says so', async () => {
    await log().writer.close();
    await expect(log().writer.append('live', record('a'))).rejects.toMatchObject({ name: 'LogUnavailableError' });
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
  it.each(bodies)('bytes are unchanged: $title', async ({ make }) => {
    const body = make();
    const want = { hash: sha256(body), length: body.byteLength };
    await log().writer.append('live', { header: header('r'), body });
    const [found] = await log().reader.read('live', 0, noLimits);
    if (found === undefined || found.damaged !== undefined) throw new Error('expected one intact record');
    expect({ hash: sha256(found.body), length: found.body.byteLength }).toEqual(want);
  });

  it("a neighbour's bytes in the same buffer stay with their owner", async () => {
    const whole = new Uint8Array([1, 2, 3, 4]);
    await log().writer.append('live', { header: header('r'), body: whole.subarray(0, 2) });
    expect([...whole]).toEqual([1, 2, 3, 4]);
  });
}
