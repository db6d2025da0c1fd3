import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { header, noLimits, record, texts } from '../../../test/conformance/event-log/event-log.ts';
import type { EventLogReader, StoredRecord } from '../eventlog.ts';
import { formatVersion, pageBytes, segmentFileName, seqJump, seqSkip } from './format.ts';
import { openSqliteLogWriter, type SqliteLogOptions, type SqliteLogWriter } from './writer.ts';
import { openSqliteLogReader } from './reader.ts';

// Real files and threads. Files are read and damaged only while the log is closed; otherwise only sizes and names are read.

const mebibyte = 1024 * 1024;

let dir: string;
let openLogs: { close(): Promise<void> }[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-files-'));
});
afterEach(async () => {
  for (const each of openLogs.reverse()) await each.close();
  openLogs = [];
  await rm(dir, { recursive: true, force: true });
});

interface Opened {
  readonly writer: SqliteLogWriter;
  readonly reader: EventLogReader;
  readonly problems: string[];
  close(): Promise<void>;
}

async function open(options: Partial<SqliteLogOptions> & { live?: number } = {}): Promise<Opened> {
  const problems: string[] = [];
  const committed = { live: options.live ?? 0, historical: 0 };
  const onProblem = (sentence: string) => problems.push(sentence);
  const writer = await openSqliteLogWriter(dir, { committed, onProblem, ...options });
  const reader = openSqliteLogReader(dir, writer.shared);
  const close = async () => {
    await reader.close();
    await writer.close();
  };
  const opened = { writer, reader, problems, close };
  openLogs.push(opened);
  return opened;
}

/** Appends `count` records of `bytes` each and returns their seqs. */
function fill(writer: SqliteLogWriter, count: number, bytes: number): Promise<number[]> {
  const bodies = Array.from({ length: count }, () => new Uint8Array(randomBytes(bytes)));
  return Promise.all(bodies.map((body, n) => writer.append('live', { header: header(`r${n}`), body })));
}

function liveFiles(): string[] {
  return readdirSync(join(dir, 'live')).sort();
}

function segmentFiles(): string[] {
  return liveFiles().filter((name) => name.endsWith('.sqlite'));
}

/** A file may be removed after it was listed. */
function liveBytes(): number {
  const sizes = liveFiles().map((name) => statSync(join(dir, 'live', name), { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function eventually(condition: () => boolean): Promise<void> {
  for (let n = 0; n < 1500 && !condition(); n += 1) await delay(10);
  expect(condition()).toBe(true);
}

/** Changes the only segment file of the live lane while the log is closed. */
function damageFile(change: (bytes: Buffer) => void): void {
  const [name = ''] = segmentFiles();
  expect(existsSync(join(dir, 'live', `${name}-wal`))).toBe(false);
  const bytes = readFileSync(join(dir, 'live', name));
  change(bytes);
  writeFileSync(join(dir, 'live', name), bytes);
}

function rowCount(name: string): number {
  const db = new DatabaseSync(join(dir, 'live', name), { readOnly: true });
  try {
    return Number(db.prepare('SELECT count(*) AS n FROM records').get()?.['n']);
  } finally {
    db.close();
  }
}

function intact(found: readonly StoredRecord[]): number[] {
  return found.filter(({ damaged }) => damaged === undefined).map(({ seq }) => seq);
}

describe('damage', () => {
  it.each([
    { title: 'a body', needle: 'the-body-3' },
    { title: 'a header', needle: '"requestId":"h3"' },
  ])('a flipped byte in $title damages only that record', async ({ needle }) => {
    const before = await open();
    for (let n = 1; n <= 5; n += 1) {
      await before.writer.append('live', { header: header(`h${n}`), body: Buffer.from(`the-body-${n}`.repeat(300)) });
    }
    await before.close();
    damageFile((bytes) => {
      const at = bytes.indexOf(needle) + 3;
      bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    });
    const { reader, writer } = await open();
    const found = await reader.read('live', 0, noLimits);
    expect(found.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(intact(found)).toEqual([1, 2, 4, 5]);
    const damaged = found[2];
    if (damaged?.damaged === undefined) throw new Error('expected record 3 to be damaged');
    expect(damaged.damaged).toMatch(/expected checksum \d+, got: \d+/);
    expect(damaged.bytes.byteLength).toBe(3000);
    reader.commit('live', 3);
    expect(texts(await reader.read('live', 3, noLimits))[0]).toContain('the-body-4');
    expect(writer.backlog('live').records).toBe(2);
  });

  it('an unreadable page damages only its records, which are named', async () => {
    const before = await open();
    const seqs = await fill(before.writer, 400, 1000);
    await before.close();
    damageFile((bytes) => {
      const middle = Math.floor(bytes.byteLength / pageBytes / 2) * pageBytes;
      bytes.fill(0xff, middle, middle + pageBytes);
    });
    const { reader, writer, problems } = await open();
    const found = await reader.read('live', 0, noLimits);
    const good = intact(found);
    const bad = found.filter(({ damaged }) => damaged !== undefined);
    expect(bad.length).toBe(1);
    const [, first = 0, last = 0] = (/at records (\d+) to (\d+):/.exec(bad[0]?.damaged ?? '') ?? []).map(Number);
    expect(last - first).toBeLessThan(20);
    expect([...good, ...seqs.filter((seq) => seq >= first && seq <= last)].sort((a, b) => a - b)).toEqual(seqs);
    expect(problems.join()).toContain('is damaged');
    const next = await writer.append('live', record('after'));
    expect(texts(await reader.read('live', seqs.at(-1) ?? 0, noLimits))).toEqual(['after']);
    reader.commit('live', next);
    expect(await writer.append('live', record('and after that'))).toBeGreaterThan(next);
  });

  it('a newest file that is not a database is set aside, and appends continue in a new one with far higher numbers', async () => {
    const before = await open();
    const seqs = await fill(before.writer, 5, 100);
    await before.close();
    damageFile((bytes) => bytes.fill(0x55, 0, 4096));
    const { reader, writer, problems } = await open();
    const next = await writer.append('live', record('after'));
    expect(next).toBeGreaterThan((seqs.at(-1) ?? 0) + 1_000_000);
    const found = await reader.read('live', 0, noLimits);
    expect(found.map(({ damaged }) => damaged !== undefined)).toEqual([true, false]);
    expect(found[0]?.damaged).toMatch(/cannot be read at records 1 to \d+: file is not a database/);
    expect(problems.join()).toContain(segmentFileName(1));
    reader.commit('live', next);
    await eventually(() => segmentFiles().length === 1);
  });
});

describe('files', () => {
  it('full files are closed, and unlinked with their other files once consumed', async () => {
    const { reader, writer } = await open({ segmentBytes: mebibyte });
    const seqs: number[] = [];
    for (let n = 0; n < 10; n += 1) seqs.push(...(await fill(writer, 10, 58_000)));
    expect(segmentFiles().length).toBeGreaterThan(3);
    const found = await reader.read('live', 0, noLimits);
    expect(found.map(({ seq }) => seq)).toEqual(seqs);
    reader.commit('live', seqs[49] ?? 0);
    await eventually(() => segmentFiles().length <= 4);
    expect(intact(await reader.read('live', seqs[49] ?? 0, noLimits))).toEqual(seqs.slice(50));
    reader.commit('live', seqs.at(-1) ?? 0);
    await eventually(() => segmentFiles().length === 1);
    const [only = ''] = segmentFiles();
    expect(liveFiles().filter((name) => !name.startsWith(only))).toEqual([]);
  });

  it('a large file frees its space once it is drained', async () => {
    const { reader, writer } = await open({ drainedFileBytes: mebibyte });
    const seqs = await fill(writer, 100, 58_000);
    await reader.read('live', 0, { events: 1, bytes: 1 });
    expect(liveBytes()).toBeGreaterThan(5 * mebibyte);
    reader.commit('live', seqs.at(-1) ?? 0);
    await eventually(() => liveBytes() < mebibyte);
    const next = await writer.append('live', record('next'));
    expect(next).toBe((seqs.at(-1) ?? 0) + 1);
    expect(texts(await reader.read('live', seqs.at(-1) ?? 0, noLimits))).toEqual(['next']);
  });

  it('consumed rows are deleted, so that the file stays small', async () => {
    const { reader, writer } = await open();
    for (let n = 0; n < 60; n += 1) {
      const seqs = await fill(writer, 10, 58_000);
      reader.commit('live', seqs.at(-1) ?? 0);
    }
    const [only = ''] = segmentFiles();
    expect(statSync(join(dir, 'live', only)).size).toBeLessThan(8 * mebibyte);
  });

  it('remains of a crash during creation and removal of files are cleaned up', async () => {
    const before = await open();
    await before.writer.append('live', record('kept'));
    await before.close();
    writeFileSync(join(dir, 'live', segmentFileName(2)), '');
    for (const suffix of ['-wal', '-shm']) writeFileSync(join(dir, 'live', segmentFileName(77) + suffix), 'left over');
    const { reader, writer } = await open();
    expect(segmentFiles()).toEqual([segmentFileName(1)]);
    expect(liveFiles().filter((name) => name.includes('77'))).toEqual([]);
    expect(await writer.append('live', record('new'))).toBe(2);
    expect(texts(await reader.read('live', 0, noLimits))).toEqual(['kept', 'new']);
  });
});

describe('restart', () => {
  it('the backlog consists of the records after the cursor', async () => {
    const before = await open({ segmentBytes: mebibyte / 4 });
    const seqs: number[] = [];
    for (let n = 0; n < 10; n += 1) seqs.push(...(await fill(before.writer, 3, 50_000)));
    await before.close();
    const { writer, reader } = await open({ live: seqs[19] ?? 0 });
    expect(writer.backlog('live')).toEqual({ records: 10, events: 10, bytes: 500_000 });
    expect(writer.backlogOf('live', 1)).toEqual({ records: 10, events: 10, bytes: 500_000 });
    expect(intact(await reader.read('live', seqs[19] ?? 0, noLimits))).toEqual(seqs.slice(20));
  });

  it('numbers continue after everything was drained, repeatedly', async () => {
    let last = 0;
    for (let round = 0; round < 3; round += 1) {
      const { writer, reader, close } = await open({ live: last, drainedFileBytes: 0 });
      const next = await writer.append('live', record(`round ${round}`));
      expect(next).toBe(last + 1);
      reader.commit('live', next);
      await eventually(() => segmentFiles()[0] === segmentFileName(next + 1));
      await close();
      last = next;
    }
  });

  it('a cursor ahead of the files moves the numbers far above it, because rows may be stored under them', async () => {
    const { writer, reader } = await open({ live: 1000 });
    const seq = await writer.append('live', record('new'));
    expect(seq).toBe(1000 + seqJump);
    expect(intact(await reader.read('live', 1000, noLimits))).toEqual([seq]);
  });

  it('after a crash the numbers jump by more than the disk can have lost, and deleting continues', async () => {
    const before = await open();
    const seqs = await fill(before.writer, 20, 50_000);
    const copy = await mkdtemp(join(tmpdir(), 'millrace-files-copy-'));
    // A copy of an open log's files is what a crash leaves.
    cpSync(dir, copy, { recursive: true });
    await before.close();
    await rm(dir, { recursive: true });
    dir = copy;
    const { writer, reader } = await open({ live: seqs[9] ?? 0 });
    expect(intact(await reader.read('live', seqs[9] ?? 0, noLimits))).toEqual(seqs.slice(10));
    const after = await fill(writer, 20, 50_000);
    expect(after[0]).toBe((seqs.at(-1) ?? 0) + 1 + seqSkip);
    reader.commit('live', after[9] ?? 0);
    await eventually(() => rowCount(segmentFileName(1)) === 10);
  });

  it('forgets the bytes of stored records, also after a gap in the numbering, and keeps those that wait', async () => {
    const before = await open();
    const bytesOf = (): string =>
      liveFiles()
        .map((file) => readFileSync(join(dir, 'live', file), 'latin1'))
        .join('');
    await before.writer.append('live', record('canary of a stored record'));
    const copy = await mkdtemp(join(tmpdir(), 'millrace-files-copy-'));
    cpSync(dir, copy, { recursive: true });
    await before.close();
    await rm(dir, { recursive: true });
    dir = copy;
    const { writer, reader } = await open();
    const signal = AbortSignal.timeout(20_000);
    const forgetting = writer.forgetStored(signal);
    expect(texts(await reader.read('live', 0, noLimits))).toEqual(['canary of a stored record']);
    reader.commit('live', 1);
    await forgetting;
    expect(bytesOf()).not.toContain('canary');
    const waiting = await writer.append('live', record('still waits'));
    expect(waiting).toBeGreaterThan(1);
    const stopped = new AbortController();
    const unfinished = writer.forgetStored(stopped.signal);
    stopped.abort(new Error('stopped'));
    await expect(unfinished).rejects.toThrow('stopped');
    expect(texts(await reader.read('live', 1, noLimits))).toEqual(['still waits']);
  });

  it('the log keeps its identity, and gets a new one if it was lost or only half written', async () => {
    const first = await open();
    const { id } = first.reader;
    await first.close();
    const second = await open();
    expect(second.reader.id).toBe(id);
    await second.close();
    for (const damage of [() => rm(join(dir, 'id')), () => writeFileSync(join(dir, 'id'), id.slice(0, 5))]) {
      await damage();
      const later = await open();
      expect(later.reader.id).toMatch(/^[0-9a-f]{16}$/);
      expect(later.reader.id).not.toBe(id);
      await later.close();
    }
  });

  it('close completes unanswered appends', async () => {
    const before = await open();
    const pending = fill(before.writer, 20, 1000);
    await before.close();
    expect((await pending).length).toBe(20);
    const { writer } = await open();
    expect(writer.backlog('live').records).toBe(20);
  });
});

describe('refusals', () => {
  it('files of a newer format are left unchanged, with a message', async () => {
    const before = await open();
    await before.writer.append('live', record('a'));
    await before.close();
    const db = new DatabaseSync(join(dir, 'live', segmentFileName(1)));
    db.exec(`PRAGMA user_version = ${formatVersion + 1}`);
    db.close();
    await expect(open()).rejects.toMatchObject({
      name: 'LogOpenError',
      code: 'newer_format',
      message: expect.stringMatching(/format 1 or older, got: 2\. A newer release wrote it: start that release/),
    });
    expect(segmentFiles()).toEqual([segmentFileName(1)]);
  });

  it('a second writer in the same process is refused', async () => {
    await open();
    await expect(open()).rejects.toMatchObject({ name: 'LogOpenError', code: 'in_use' });
  });

  it('a directory that cannot be created is refused with the reason', async () => {
    writeFileSync(join(dir, 'live'), 'a file in the way');
    await expect(open()).rejects.toMatchObject({
      name: 'LogOpenError',
      code: 'io',
      message: expect.stringMatching(/EEXIST/),
    });
  });

  it('an append beyond the bytes allowed in flight is refused, and a later one is accepted', async () => {
    const { writer } = await open({ inFlightBytesMax: 100_000 });
    const [first, second] = await Promise.allSettled([fill(writer, 1, 60_000), fill(writer, 1, 60_000)]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { name: 'LogUnavailableError' } });
    expect((await fill(writer, 1, 200_000)).length).toBe(1);
    expect(writer.backlog('live').bytes).toBe(260_000);
  });

  it('a body whose memory was already transferred is refused rather than stored empty', async () => {
    const { writer } = await open();
    const body = new Uint8Array(100_000);
    await writer.append('live', { header: header('a'), body });
    await expect(writer.append('live', { header: header('b'), body })).rejects.toThrow('expected a separate body');
    expect(writer.backlog('live').records).toBe(1);
  });
});

describe('threads', () => {
  it('a reader in another thread is woken, reads everything in order, and commits to the writer', async () => {
    const { writer } = await open();
    const { port1, port2 } = new MessageChannel();
    const worker = new Worker(new URL('../../../test/support/eventlog/reader-thread.ts', import.meta.url), {
      workerData: { dir, shared: writer.shared, wanted: 300, port: port2 },
      transferList: [port2],
    });
    const answer = new Promise((resolve, reject) => {
      port1.once('message', resolve);
      worker.once('error', reject);
    });
    const seqs: number[] = [];
    for (let n = 0; n < 30; n += 1) {
      seqs.push(...(await fill(writer, 10, 2000)));
      await delay(2);
    }
    expect(await answer).toEqual(seqs);
    expect(writer.backlog('live')).toEqual({ records: 0, events: 0, bytes: 0 });
  });
});
