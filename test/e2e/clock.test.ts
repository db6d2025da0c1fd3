/**
 * Times that clients send, a server in a zone with daylight saving, and clocks that jump by an hour.
 * Real: the whole program; for jumps the parts themselves over a real SQLite store, under a controlled clock.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { newId } from '../../src/base/ids.ts';
import { createBudgets } from '../../src/wire/capture/budgets.ts';
import { createAgreements, type ApprovedAgreement } from '../../src/wire/capture/agreements.ts';
import { createProjectKeys } from '../../src/wire/capture/project-key.ts';
import type { ApiError } from '../../src/wire/contract/errors.ts';
import { createRateLimiter, parseRateLimit } from '../../src/server/http/rate-limit.ts';
import { redate } from '../../src/queue/jobs/prune-jobs.ts';
import { claim, enqueue, renew, succeed } from '../../src/queue/jobs/queue.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createProject } from '../../src/stores/metadata/projects.ts';
import { startTestApp } from '../support/app.ts';
import { tempMetadata } from '../support/metadata.ts';
import {
  apiGet,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  untilSettled,
  untilStored,
  type TestServer,
} from '../support/server.ts';

const hour = 3_600_000;

interface TimeCase {
  /** JSON text of the timestamp; undefined: none is sent. */
  readonly sent?: string;
  /** When the event happened as stored; `arrival`: when it came in. */
  readonly live: string;
  /** The same for history; `refused`: a dead letter. */
  readonly historical: string;
}

const october = '2021-10-29T12:34:56.000000Z';
const times: Readonly<Record<string, TimeCase>> = {
  'no timestamp': { live: 'arrival', historical: 'arrival' },
  null: { sent: 'null', live: 'arrival', historical: 'arrival' },
  '1970': {
    sent: '"1970-01-01T00:00:00Z"',
    live: '1970-01-01T00:00:00.000000Z',
    historical: '1970-01-01T00:00:00.000000Z',
  },
  'the year 1900': {
    sent: '"1900-01-01T00:00:00Z"',
    live: '1900-01-01T00:00:00.000000Z',
    historical: '1900-01-01T00:00:00.000000Z',
  },
  'the year 1899': { sent: '"1899-12-31T23:59:59Z"', live: 'arrival', historical: 'refused' },
  'the year 9999': { sent: '"9999-12-31T23:59:59Z"', live: 'arrival', historical: 'refused' },
  'an offset of 99 hours': { sent: '"2021-10-29T12:34:56+99:00"', live: 'arrival', historical: 'refused' },
  '30 February': { sent: '"2021-02-30T12:34:56Z"', live: 'arrival', historical: 'refused' },
  'no date': { sent: '"yesterday"', live: 'arrival', historical: 'refused' },
  'an empty text': { sent: '""', live: 'arrival', historical: 'refused' },
  'a true offset': { sent: '"2021-10-29T14:34:56+02:00"', live: october, historical: october },
  microseconds: {
    sent: '"2021-10-29T12:34:56.123456Z"',
    live: '2021-10-29T12:34:56.123456Z',
    historical: '2021-10-29T12:34:56.123456Z',
  },
  'seconds since the epoch': { sent: '1635510896', live: october, historical: october },
  'milliseconds since the epoch': { sent: '1635510896000', live: october, historical: october },
  'microseconds since the epoch': { sent: '1635510896000000', live: october, historical: october },
  'seconds since the epoch as a text': { sent: '"1635510896"', live: october, historical: october },
  '1e999': { sent: '1e999', live: 'arrival', historical: 'refused' },
};

describe('a server in America/New_York', () => {
  let server: TestServer;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  const accepted = { standard: 0, historical: 0 };
  type Lane = 'live' | 'historical';

  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path, { TZ: 'America/New_York' });
  });
  afterAll(async () => {
    await server.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  async function send(events: readonly string[], lane: Lane): Promise<{ status: number; body: unknown }> {
    const historical = lane === 'historical';
    const answer = await fetch(`${server.url}/batch/`, {
      method: 'POST',
      body: `{"api_key":"${projectKey}","historical_migration":${historical},"batch":[${events.join(',')}]}`,
    });
    if (answer.status === 200) accepted[historical ? 'historical' : 'standard'] += events.length;
    return { status: answer.status, body: await answer.json() };
  }

  async function storedTime(uuid: string): Promise<string> {
    const deadline = Date.now() + 120_000;
    for (;;) {
      const answer = await fetch(`${server.url}/api/projects/@current/events/${uuid}/`, {
        headers: { authorization: `Bearer ${personalKey}` },
      });
      const body = (await answer.json()) as { timestamp: string };
      if (answer.status === 200) return body.timestamp;
      if (Date.now() > deadline) throw new Error(`expected ${uuid} to be stored, got: ${answer.status}`);
      await delay(50);
    }
  }

  /** The time at which one event is stored, or its other outcome: `arrival` or `refused`. */
  async function outcomeOf(sent: string | undefined, lane: Lane): Promise<string> {
    const uuid = randomUUID();
    const timestamp = sent === undefined ? '' : `,"timestamp":${sent}`;
    const before = Date.now();
    const { status, body } = await send([`{"event":"e","distinct_id":"t","uuid":"${uuid}"${timestamp}}`], lane);
    const { code, attr, detail = '' } = body as { code?: string; attr?: string; detail?: string };
    const isRefused = code === 'invalid_input' && attr === 'batch[0].timestamp' && detail.includes(`got: ${sent}`);
    if (status === 400 && isRefused) return 'refused';
    if (status !== 200) return JSON.stringify(body);
    const stored = await storedTime(uuid);
    return Date.parse(stored) >= before && Date.parse(stored) <= Date.now() ? 'arrival' : stored;
  }

  describe.each(['live', 'historical'] as const)('timestamps of %s events', (lane) => {
    it.each(Object.entries(times))('%s', async (_name, { sent, ...expected }) => {
      expect(await outcomeOf(sent, lane)).toBe(expected[lane]);
    });
  });

  it('stores the hours around both changes of daylight saving as the same instants, and counts them by UTC day', async () => {
    const starts = ['2021-03-13T00:00:00Z', '2021-11-06T00:00:00Z'].map(Date.parse);
    const hours = starts.flatMap((start) => Array.from({ length: 72 }, (_, n) => new Date(start + n * hour)));
    const sent = hours.map((time, n) => {
      // Half of them without a zone, which means UTC wherever the server stands.
      const text = time.toISOString().slice(0, n % 2 === 0 ? 24 : 19);
      return { uuid: randomUUID(), text, expected: `${time.toISOString().slice(0, 19)}.000000Z` };
    });
    const events = sent.map(
      ({ uuid, text }) => `{"event":"hourly","distinct_id":"t","uuid":"${uuid}","timestamp":"${text}"}`,
    );
    expect((await send(events, 'historical')).status).toBe(200);
    await untilStored(server, accepted);
    const page = await apiGet<{ results: { id: string; timestamp: string }[] }>(
      server,
      '/api/projects/@current/events/?event=hourly&limit=1000',
    );
    const stored = new Map(page.results.map((row) => [row.id, row.timestamp]));
    expect(sent.map(({ uuid }) => stored.get(uuid))).toEqual(sent.map(({ expected }) => expected));
    const counts = await apiGet<{ results: { time: string; count: number }[] }>(
      server,
      '/api/projects/@current/events/counts/?event=hourly&interval=day',
    );
    const days = ['2021-03-13', '2021-03-14', '2021-03-15', '2021-11-06', '2021-11-07', '2021-11-08'];
    expect(counts.results.map(({ time, count }) => `${time.slice(0, 19)} ${count}`).sort()).toEqual(
      days.map((day) => `${day}T00:00:00 24`),
    );
  });

  it('meters all of them once, on the UTC day of their arrival', async () => {
    await untilSettled(server, accepted);
    const usage = await apiGet<{ results: { date: string }[]; total: object }>(server, '/api/projects/@current/usage/');
    expect(usage.total).toEqual(accepted);
    const today = new Date().toISOString().slice(0, 10);
    const yesterday = new Date(Date.now() - 24 * hour).toISOString().slice(0, 10);
    expect([today, yesterday]).toContain(usage.results[0]?.date);
  });
});

/** A clock that can be set to anything. */
function jumpyClock(): { now(): number; jump(ms: number): void } {
  let now = Date.parse('2026-11-20T10:00:00Z');
  return {
    now: () => now,
    jump: (ms) => {
      now += ms;
    },
  };
}

describe.each([
  ['forward', hour],
  ['back', -hour],
])('when the clock of the server jumps an hour %s', (direction, jump) => {
  it('a rate limit frees at the latest after its own window', () => {
    const clock = jumpyClock();
    const limiter = createRateLimiter(parseRateLimit('2/min'), clock);
    while (limiter.take('key').allowed);
    clock.jump(jump);
    const decision = limiter.take('key');
    if (!decision.allowed) clock.jump(decision.resetSeconds * 1000);
    expect(decision.resetSeconds).toBeLessThanOrEqual(60);
    expect(limiter.take('key').allowed).toBe(true);
  });

  it('a rotated project key stops working within seconds', async () => {
    const clock = jumpyClock();
    const projects = new Map([['phc_old', 1]]);
    const keys = createProjectKeys({ clock, findProject: async (token) => projects.get(token) });
    expect(await keys.projectOf('phc_old')).toBe(1);
    projects.clear();
    clock.jump(jump);
    await expect(keys.projectOf('phc_old')).rejects.toMatchObject({ status: 401 });
    projects.set('phc_old', 1);
    clock.jump(1001);
    expect(await keys.projectOf('phc_old')).toBe(1);
  });

  it('an agreement takes effect within seconds and its speed holds', async () => {
    const clock = jumpyClock();
    const approved: ApprovedAgreement[] = [];
    const findApproved = async (): Promise<ApprovedAgreement | undefined> => approved[0];
    const budgets = createBudgets({ clock, historicalTotal: async () => 2e7 });
    const agreements = createAgreements({ mode: 'required', clock, findApproved, budgets });
    await expect(agreements.admit(1, 1)).rejects.toMatchObject({ status: 429 });
    approved.push({ eventsPerSecond: 100 });
    clock.jump(jump);
    await agreements.admit(1, 1000);
    clock.jump(-jump);
    let admitted = 0;
    for (let request = 0; request < 180; request += 1) {
      if (request % 3 === 0) clock.jump(1000);
      admitted += await agreements.admit(1, 100).then(
        () => 100,
        (error: ApiError) => (error.status === 429 ? 0 : Number.NaN),
      );
    }
    // 60 s at the agreed speed, but for the second of the jump; a jump forward fills the bucket of ten seconds, no more.
    expect(admitted).toBeGreaterThanOrEqual(5900);
    expect(admitted).toBeLessThanOrEqual(6000 + 1000);
  });

  it('sessions and keys stay valid, and a deleted one ends within seconds', async () => {
    await using app = await startTestApp(() => []);
    const cookie = (await app.session()).replace('millrace_session=', '');
    const key = await app.key(['plugin:read']);
    const ask = (credentials: Parameters<typeof app.auth.identify>[0]): Promise<string> =>
      app.auth.identify(credentials, '127.0.0.1').then(
        (principal) => principal.kind,
        (error: ApiError) => error.code,
      );
    const askBoth = async (): Promise<string[]> => [
      await ask({ kind: 'session', cookie }),
      await ask({ kind: 'key', key, place: 'Authorization header' }),
    ];
    expect(await askBoth()).toEqual(['session', 'key']);
    app.clock.advance(jump);
    expect(await askBoth()).toEqual(['session', 'key']);
    app.clock.advance(-jump);
    expect(await askBoth()).toEqual(['session', 'key']);
    await app.db.deleteFrom('sessions').execute();
    await app.db.deleteFrom('personal_api_keys').execute();
    app.clock.advance(jump);
    expect(await askBoth()).toEqual(['not_authenticated', 'authentication_failed']);
  });

  it('a running job has one holder who may write its outcome, and waiting jobs start', async () => {
    await using store = await tempMetadata();
    const { db } = store;
    const clock = jumpyClock();
    const { id: organizationId } = await createOrganization(db, { name: 'o' }, clock.now());
    const { id: projectId } = await createProject(db, { organizationId, name: 'p' }, clock.now());
    const add = (configId: number): Promise<string> =>
      db.transaction().execute((tx) => {
        const job = { projectId, configId, type: 'run', operation: 'start', payload: {} };
        return enqueue(tx, { ...job, now: clock.now() });
      });
    const running = await add(1);
    const held = await claim(db, clock.now(), 30_000);
    if (held === undefined) throw new Error('expected a job to be due');
    const waiting = await add(2);
    clock.jump(jump);
    // As the runner does every minute.
    await redate(db, clock.now(), 30_000);
    const next = [await claim(db, clock.now(), 30_000), await claim(db, clock.now(), 30_000)];
    expect(
      next
        .map((job) => job?.id)
        .filter((id) => id !== undefined)
        .sort(),
    ).toEqual((direction === 'forward' ? [running, waiting] : [waiting]).sort());
    // Forward: the lease appears expired, and its holder detects that.
    const isHolder = await renew(db, held, clock.now(), 30_000);
    expect(isHolder).toBe(direction === 'back');
    const holder = next.find((job) => job?.id === running) ?? held;
    expect(await succeed(db, held, clock.now())).toBe(isHolder);
    expect(holder === held || (await succeed(db, holder, clock.now()))).toBe(true);
  });

  it('new ids still sort in order of creation', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const start = Date.now();
    const ids = [newId()];
    vi.setSystemTime(start + jump);
    for (let n = 0; n < 1000; n += 1) ids.push(newId());
    vi.setSystemTime(start);
    for (let n = 0; n < 1000; n += 1) ids.push(newId());
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });

  afterEach(() => {
    vi.useRealTimers();
  });
});
