/**
 * Real: the whole program as separate processes, SQLite, chDB, HTTP. Doubled: the bucket (test/support/bucket-server.ts).
 * The ledger (test/support/ledger.ts) is the oracle.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { testBucketServer } from '../support/bucket-server.ts';
import { tempChdb } from '../support/chdb.ts';
import { spawnCommand, type Finished } from '../support/command.ts';
import { compareWithLedger, Ledger, readAllEvents } from '../support/ledger.ts';
import {
  apiGet,
  projectKey,
  startServer,
  tempDataDir,
  untilSettled,
  untilStored,
  type TestServer,
} from '../support/server.ts';
import { untilDrained } from '../../tools/bench/server.ts';

interface Report {
  readonly files: number;
  readonly held_ms: number;
  readonly counts: {
    readonly events: readonly { readonly project: number; readonly month: number; readonly events: number }[];
    readonly waiting: { readonly live: { readonly events: number }; readonly historical: { readonly events: number } };
  };
}
interface PersonPage {
  readonly results: readonly { distinct_ids: string[] }[];
}

const failing = (failAt: string) => ({ MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' });

function reportOf({ code, stdout, stderr }: Finished): Report {
  if (code !== 0) throw new Error(`expected the command to end well, got ${code}: ${stderr}`);
  return JSON.parse(stdout) as Report;
}

const backup = (dataDir: string, to: string, env = {}): Promise<Finished> =>
  spawnCommand(['backup', '--data-dir', dataDir, '--to', to, '--json'], { env });
const restore = (from: string, dataDir: string, env = {}): Promise<Finished> =>
  spawnCommand(['restore', '--data-dir', dataDir, '--from', from, '--json'], { env });

/** Runs two senders for this many ms, with a pause after each request. */
async function sendFor(ms: number, server: TestServer, pauseMs: number): Promise<Ledger> {
  const ledger = new Ledger();
  const stop = new AbortController();
  const sending = ledger.sendUntilDown(server, 2, stop.signal, pauseMs);
  await delay(ms);
  stop.abort();
  await sending;
  return ledger;
}

/** Everything acknowledged is there once, with its person, and counted once. */
async function expectExact(server: TestServer, ledger: Ledger): Promise<void> {
  const events = [...ledger.sent.values()].filter(({ uuid }) => ledger.acknowledged.has(uuid));
  const historical = events.filter((event) => event.historical).length;
  await untilSettled(server, { standard: events.length - historical, historical });
  expect(compareWithLedger(ledger, await readAllEvents(server))).toEqual([]);
  for (const distinctId of new Set(events.map((event) => event.distinct_id))) {
    const page = await apiGet<PersonPage>(server, `/api/projects/@current/persons/?distinct_id=${distinctId}`);
    expect(page.results.map((person) => person.distinct_ids)).toEqual([[distinctId]]);
  }
}

/** Stored rows, including hidden ones, and visible events of a directory that no process uses. */
async function rowsIn(dataDir: string): Promise<{ rows: number; shown: number }> {
  const chdb = await tempChdb({}, dataDir);
  try {
    const count = async (final: string): Promise<number> =>
      Number((await chdb.store.query<{ n: string }>(`SELECT count() AS n FROM events ${final}`))[0]?.n);
    return { rows: await count(''), shown: await count('FINAL') };
  } finally {
    await chdb.close();
  }
}

it('a backup under load that was killed and taken again restores every event acknowledged before it began, once, and the restored service continues', async () => {
  await using dataDir = await tempDataDir();
  await using place = await tempDataDir();
  const [to, restored] = [join(place.path, 'backup'), join(place.path, 'restored')];
  const ledger = new Ledger();
  const server = await startServer(dataDir.path);
  const stop = new AbortController();
  const sending = ledger.sendUntilDown(server, 3, stop.signal, 20);
  await delay(1500);

  const killed = await backup(dataDir.path, to, failing('backup_file:20'));
  expect(killed.code).toBeNull();
  const refused = await restore(to, restored);
  expect(refused.stderr).toContain('got one that was not completed');
  expect([refused.code, existsSync(restored)]).toEqual([1, false]);

  const before = new Set(ledger.acknowledged.keys());
  const taken = reportOf(await backup(dataDir.path, to));
  expect(taken.files).toBeGreaterThan(20);
  expect(readdirSync(join(dataDir.path, 'backup'))).toEqual(['lock.sqlite']);
  await delay(300);
  stop.abort();
  await sending;
  expect(ledger.acknowledged.size).toBeGreaterThan(before.size);
  await expectExact(server, ledger);
  await server.terminate();

  const report = reportOf(await restore(to, restored));
  expect(report.counts).toEqual(taken.counts);
  const again = await startServer(restored);
  await untilDrained(again.url, 60_000);
  const found = await readAllEvents(again);
  // Some of the waiting ones are already stored: their range was begun.
  const { live, historical } = report.counts.waiting;
  const stored = report.counts.events.reduce((sum, { events }) => sum + events, 0);
  expect(found.length).toBeGreaterThanOrEqual(stored);
  expect(found.length).toBeLessThanOrEqual(stored + live.events + historical.events);
  const there = new Set(found.map(({ id }) => id));
  expect(there.size).toBe(found.length);
  expect([...before].filter((uuid) => !there.has(uuid))).toEqual([]);
  expect(found.filter(({ id }) => !ledger.sent.has(id))).toEqual([]);
  expect(await totalOf(again)).toBe(found.length);

  // New events, numbered behind those that the backup had.
  const later = await sendFor(700, again, 20);
  expect(later.acknowledged.size).toBeGreaterThan(0);
  await untilDrained(again.url, 60_000);
  expect(await totalOf(again)).toBe(found.length + later.acknowledged.size);
  expect(
    compareWithLedger(
      later,
      (await readAllEvents(again)).filter(({ id }) => later.sent.has(id)),
    ),
  ).toEqual([]);
  await again.terminate();
}, 600_000);

async function totalOf(server: TestServer): Promise<number> {
  const { total } = await untilStored(server, {});
  return total.standard + total.historical;
}

it('a range that was inserted but not committed at the time of the backup is stored once by the restored service', async () => {
  await using dataDir = await tempDataDir();
  await using place = await tempDataDir();
  const [to, restored] = [join(place.path, 'backup'), join(place.path, 'restored')];
  const ledger = new Ledger();
  const dying = await startServer(dataDir.path, failing('after_insert:3'));
  while (dying.child.signalCode === null && dying.child.exitCode === null) {
    await ledger.sendUntilDown(dying, 3, new AbortController().signal, 20);
    // It may refuse for a moment.
    await delay(100);
  }
  expect(dying.child.signalCode).toBe('SIGKILL');

  const taken = reportOf(await backup(dataDir.path, to));
  expect(taken.counts.waiting.live.events + taken.counts.waiting.historical.events).toBeGreaterThan(0);
  reportOf(await restore(to, restored));
  const server = await startServer(restored);
  await untilDrained(server.url, 60_000);
  const there = (await readAllEvents(server)).map(({ id }) => id);
  expect(new Set(there).size).toBe(there.length);
  expect([...ledger.acknowledged.keys()].filter((uuid) => !there.includes(uuid))).toEqual([]);
  await server.terminate();
  // Not even hidden: the token of the range was in the backup with its rows.
  expect(await rowsIn(restored)).toEqual({ rows: there.length, shown: there.length });
}, 300_000);

it('a backup in a bucket restores; a damaged or incomplete one is refused before anything is written', async () => {
  await using dataDir = await tempDataDir();
  await using place = await tempDataDir();
  await using bucket = await testBucketServer({ bucket: 'backups', accessKeyId: 'AKIDEXAMPLE', pageSize: 7 });
  const env = {
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_ENDPOINT_URL: bucket.endpoint,
  };
  const server = await startServer(dataDir.path);
  const ledger = await sendFor(600, server, 50);
  await mkdir(join(dataDir.path, 'import-uploads/1'), { recursive: true });
  await writeFile(join(dataDir.path, 'import-uploads/1/Ärger & Co = 1.ndjson'), 'x');
  const to = 's3://backups/nightly';
  const taken = reportOf(await backup(dataDir.path, to, env));
  expect((await backup(dataDir.path, to, env)).stderr).toContain('with a complete backup; name another one');
  await server.terminate();

  const restored = join(place.path, 'restored');
  const broken: readonly (readonly [string, RegExp, (objects: Map<string, Buffer>) => void])[] = [
    [
      'a byte',
      /metadata\.sqlite in the backup with SHA-256 \w+, got SHA-256/,
      (objects) => flip(objects, /metadata\.sqlite$/),
    ],
    ['a file', /in the backup with \d+ bytes, got none/, (objects) => objects.delete(keyLike(objects, /data\.bin$/))],
    [
      'the manifest',
      /manifest\.json as "millrace backup" wrote it, got/,
      (objects) => flip(objects, /manifest\.json$/),
    ],
    [
      'no manifest',
      /expected a backup in the bucket backups below nightly\/, got none/,
      (objects) => objects.delete('nightly/manifest.json'),
    ],
  ];
  const whole = new Map(bucket.objects);
  for (const [, sentence, damage] of broken) {
    damage(bucket.objects);
    const { code, stderr } = await restore(to, restored, env);
    expect(stderr).toMatch(sentence);
    expect([code, existsSync(restored)]).toEqual([1, false]);
    bucket.objects.clear();
    for (const [key, bytes] of whole) bucket.objects.set(key, bytes);
  }
  expect(reportOf(await restore(to, restored, env)).counts).toEqual(taken.counts);
  expect(await readFile(join(restored, 'import-uploads/1/Ärger & Co = 1.ndjson'), 'utf8')).toBe('x');
  expect((await stat(join(restored, 'metadata.sqlite'))).mode & 0o777).toBe(0o600);
  const again = await startServer(restored);
  await expectExact(again, ledger);
  await again.terminate();
}, 300_000);

function keyLike(objects: Map<string, Buffer>, pattern: RegExp): string {
  const key = [...objects.keys()].find((each) => pattern.test(each));
  if (key === undefined) throw new Error(`expected an object like ${pattern}, got none`);
  return key;
}

function flip(objects: Map<string, Buffer>, pattern: RegExp): void {
  const key = keyLike(objects, pattern);
  const bytes = Buffer.from(objects.get(key) ?? '');
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  objects.set(key, bytes);
}

it('a killed restore prevents the service from starting until the same restore has ended; a directory in use is refused', async () => {
  await using dataDir = await tempDataDir();
  await using place = await tempDataDir();
  const [to, restored] = [join(place.path, 'backup'), join(place.path, 'restored')];
  const server = await startServer(dataDir.path);
  const ledger = await sendFor(400, server, 50);
  await server.terminate();
  reportOf(await backup(dataDir.path, to));
  expect((await stat(join(to, 'manifest.json'))).mode & 0o077).toBe(0);

  const used = await restore(to, dataDir.path);
  expect([used.code, used.stderr]).toEqual([1, expect.stringContaining('expected an empty directory, got')]);
  for (const place_ of ['restore_file:10', 'restore_counted']) {
    expect((await restore(to, restored, failing(place_))).code).toBeNull();
    await expect(startServer(restored)).rejects.toThrow(/"millrace restore" has begun to fill/);
    expect((await backup(restored, join(place.path, 'other'))).stderr).toMatch(/has begun to fill/);
  }
  reportOf(await restore(to, restored));
  const again = await startServer(restored);
  await expectExact(again, ledger);
  await again.terminate();
}, 300_000);

const partFile = /\/20\d{4}_\d+_\d+_\d+\/[^/]+$/;

/** Flips a bit of a value in an index: its page stays well-formed, and says something else than the row. Returns how it is undone. */
function flipIndexed(file: string, table: string, value: string): () => void {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const indexes = db.prepare("SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = ?").all(table);
  const size = Number(db.prepare('PRAGMA page_size').get()?.['page_size']);
  db.close();
  const whole = readFileSync(file);
  const found = indexes.flatMap(({ rootpage }) => {
    const start = (Number(rootpage) - 1) * size;
    const at = whole.subarray(start, start + size).indexOf(value);
    return at < 0 ? [] : [start + at];
  });
  expect(found).toHaveLength(1);
  const flipped = Buffer.from(whole);
  const at = (found[0] ?? 0) + value.length - 1;
  flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at);
  writeFileSync(file, flipped);
  return () => writeFileSync(file, whole);
}

it('a copy whose stores are damaged is never written as a backup', async () => {
  await using dataDir = await tempDataDir();
  await using place = await tempDataDir();
  const server = await startServer(dataDir.path);
  const ledger = await sendFor(600, server, 50);
  await expectExact(server, ledger);
  await server.terminate();
  const files = readdirSync(join(dataDir.path, 'events'), { recursive: true, encoding: 'utf8' });
  const fileOf = (name: string): string =>
    join(dataDir.path, 'events', files.find((path) => path.endsWith(`/${name}`) && partFile.test(path)) ?? '');
  const refused = async (sentence: string): Promise<void> => {
    const to = join(place.path, randomUUID());
    const { code, stderr } = await backup(dataDir.path, to);
    expect(stderr).toContain(sentence);
    expect([code, existsSync(join(to, 'manifest.json'))]).toEqual([1, false]);
  };
  const mend = flipIndexed(join(dataDir.path, 'metadata.sqlite'), 'projects', projectKey);
  await refused('expected metadata.sqlite in');
  mend();
  for (const name of ['data.bin', 'minmax_day.idx']) {
    const whole = readFileSync(fileOf(name));
    const flipped = Buffer.from(whole);
    flipped[whole.length >> 1] = (whole[whole.length >> 1] ?? 0) ^ 1;
    writeFileSync(fileOf(name), flipped);
    await refused('Stored events are damaged');
    writeFileSync(fileOf(name), whole);
  }
  await truncate(fileOf('checksums.txt'), 3);
  await refused('damaged parts of the table events');
}, 300_000);
