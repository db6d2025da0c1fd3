/** Bit rot while the program is stopped, and a disk that fills up: the real program on files that this test damages. */
import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { hasProc, runningStorePid } from '../support/processes.ts';
import {
  apiGet,
  projectKey,
  startServer,
  tempDataDir,
  untilSettled,
  untilStored,
  type TestServer,
} from '../support/server.ts';
import { fillDisk, mayMount, smallDisk } from '../support/small-disk.ts';

async function send(server: TestServer, batch: readonly object[], historical = false): Promise<number> {
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    body: JSON.stringify({ api_key: projectKey, historical_migration: historical, batch }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

const eventAt = (timestamp: string, more: object = {}): object => ({
  event: 'seen',
  distinct_id: 'p',
  uuid: randomUUID(),
  timestamp,
  ...more,
});

/** Kills the server and its frozen store, which cannot notice that its parent is gone. */
async function killWithStore(server: TestServer, store: number): Promise<void> {
  await server.kill();
  process.kill(store, 'SIGKILL');
}

/** The only file of the live lane, with everything of its write-ahead log moved into it. */
function settledLogFile(dataDir: string): string {
  const lane = join(dataDir, 'log', 'live');
  const names = readdirSync(lane).filter((name) => name.endsWith('.sqlite'));
  expect(names).toHaveLength(1);
  const file = join(lane, names[0] ?? '');
  const db = new DatabaseSync(file);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
  return file;
}

function flipBit(file: string, needle: string): void {
  const bytes = readFileSync(file);
  const at = bytes.indexOf(needle);
  expect(at).toBeGreaterThan(0);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  writeFileSync(file, bytes);
}

interface DeadLetterColumns {
  readonly reason: string;
  readonly detail: string;
  readonly original: Uint8Array;
}

function deadLetters(dataDir: string): DeadLetterColumns[] {
  const db = new DatabaseSync(join(dataDir, 'metadata.sqlite'), { readOnly: true });
  try {
    return db.prepare('SELECT reason, detail, original FROM dead_letters').all() as unknown as DeadLetterColumns[];
  } finally {
    db.close();
  }
}

it.skipIf(!hasProc)(
  'a flipped bit in a request that waits in the log sets that request aside with its bytes, and all others are stored once',
  async () => {
    await using dataDir = await tempDataDir();
    const first = await startServer(dataDir.path);
    const store = runningStorePid(first);
    process.kill(store, 'SIGSTOP');
    for (let request = 0; request < 20; request += 1) {
      const properties = { mark: `request-${request}-` };
      const now = new Date().toISOString();
      expect(await send(first, [eventAt(now, { properties }), eventAt(now, { properties })])).toBe(200);
    }
    await killWithStore(first, store);
    flipBit(settledLogFile(dataDir.path), 'request-7-');

    const server = await startServer(dataDir.path);
    await untilSettled(server, { standard: 38, historical: 0 });
    const usage = await apiGet<{ total: object }>(server, '/api/projects/@current/usage/');
    expect(usage.total).toEqual({ standard: 38, historical: 0 });
    await expect
      .poll(async () => (await fetch(`${server.url}/metrics`)).text())
      .toMatch(/discarded_events_total\{[^}]*reason="damaged_log_record"[^}]*\} 1$/m);
    expect((await server.terminate()).code).toBe(0);
    const letters = deadLetters(dataDir.path);
    expect(letters).toMatchObject([
      { reason: 'damaged_log_record', detail: expect.stringMatching(/expected checksum \d+, got: \d+/) },
    ]);
    expect(Buffer.from(letters[0]?.original ?? []).toString()).toContain('equest-7-');
  },
);

/** Directory of the only part that holds a month of events. */
function partOf(dataDir: string, month: string): string {
  const events = join(dataDir, 'events');
  const found = readdirSync(events, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.includes(`/${month}_`) && path.endsWith('/checksums.txt'))
    // The engine reaches its parts by links, too.
    .map((path) => realpathSync(join(events, path)));
  const parts = [...new Set(found)];
  expect(parts).toHaveLength(1);
  return dirname(parts[0] ?? '');
}

interface Readiness {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly ok: boolean; readonly detail?: string }>>;
}

it('a damaged part of the event store makes /readyz 503 with a message that names it; the rest is readable and capture continues', async () => {
  await using dataDir = await tempDataDir();
  const first = await startServer(dataDir.path);
  expect(await send(first, [eventAt('2019-03-04T05:06:07Z')], true)).toBe(200);
  expect(await send(first, [eventAt('2020-08-09T10:11:12Z'), eventAt('2020-08-10T10:11:12Z')], true)).toBe(200);
  await untilStored(first, { historical: 3 });
  expect((await first.terminate()).code).toBe(0);
  const damaged = partOf(dataDir.path, '202008');
  truncateSync(join(damaged, 'checksums.txt'), 3);

  const server = await startServer(dataDir.path, {}, { waitForReady: false });
  const answer = await fetch(`${server.url}/readyz?verbose`);
  const ready = (await answer.json()) as Readiness;
  expect([answer.status, ready.status, ready.checks['event_store']?.ok]).toEqual([503, 'unavailable', false]);
  const sentence = ready.checks['event_store']?.detail ?? '';
  expect(sentence).toMatch(/damaged parts of the table events \(.*202008_/);
  expect(ready.checks['metadata']?.ok).toBe(true);

  expect(await send(server, [eventAt('2021-01-02T03:04:05Z')], true)).toBe(200);
  const counts = await untilStored(server, { historical: 2 });
  expect(counts.results.map(({ time }) => time.slice(0, 7)).sort()).toEqual(['2019-03', '2021-01']);

  const [, setAside = ''] = /\(([^)]*)\)/.exec(sentence) ?? [];
  rmSync(setAside, { recursive: true });
  const deadline = Date.now() + 120_000;
  while ((await fetch(`${server.url}/readyz`)).status !== 200 && Date.now() < deadline) await delay(50);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  await server.terminate();
});

interface PersonPage {
  readonly count: number;
}

it.skipIf(!mayMount)(
  'a full disk under the metadata alone loses no event and no person: events wait in the log, then get 503 until there is space',
  async () => {
    await using dataDir = await tempDataDir();
    const root = join(dataDir.path, 'small');
    using _disk = smallDisk(root, 24);
    for (const part of ['log', 'events', 'spool']) {
      mkdirSync(join(dataDir.path, part));
      symlinkSync(join(dataDir.path, part), join(root, part));
    }
    const server = await startServer(root, { MILLRACE_BACKLOG_EVENTS_MAX: '2000' });
    const ballast = fillDisk(root);
    let accepted = 0;
    let status = 200;
    for (const deadline = Date.now() + 120_000; status === 200 && Date.now() < deadline;) {
      const now = new Date().toISOString();
      const people = Array.from({ length: 100 }, (_, n) => eventAt(now, { distinct_id: `person-${accepted + n}` }));
      status = await send(server, people);
      if (status === 200) accepted += people.length;
    }
    expect(status).toBe(503);
    // Four fifths of the lane: the rest is for other projects.
    expect(accepted).toBeGreaterThanOrEqual(1600);
    rmSync(ballast);
    await untilStored(server, { standard: accepted, historical: 0 }, 60_000);
    await expect
      .poll(async () => (await apiGet<PersonPage>(server, '/api/projects/@current/persons/?limit=1')).count, {
        timeout: 30_000,
      })
      .toBe(accepted);
    expect(await send(server, [eventAt(new Date().toISOString())])).toBe(200);
    await untilStored(server, { standard: accepted + 1, historical: 0 });
    expect((await server.terminate()).code).toBe(0);
  },
);
