import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { Settings } from '../../server/config/settings.ts';
import { noOverrides, type LimitOverrides } from '../contract/project-limits.ts';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';
import { shareOf } from './meter.ts';
import { createProjectLimits, type ProjectLimits } from './project-limits.ts';

describe('a project with limits', () => {
  let capture: TestCapture;
  const start = async (settings: Partial<Settings>): Promise<void> => {
    capture = await startTestCapture({ settings });
  };
  afterEach(() => capture[Symbol.asyncDispose]());

  /** Ids and values that are easily damaged: 19 digits, quotes, other scripts. */
  const eventOf = (n: number) => ({
    event: `Käufe "鞋" ${n}`,
    distinct_id: `'; DROP TABLE -- 9007199254740993${n}`,
    properties: { order: '1234567890123456789' },
    timestamp: '2020-01-01T00:00:00Z',
  });
  const post = (events: number, more: object = {}, url = '/batch/') => {
    const batch = Array.from({ length: events }, (_, n) => eventOf(n));
    return capture.test.inject({
      method: 'POST',
      url,
      payload: JSON.stringify({ api_key: capture.token, batch, ...more }),
    });
  };
  const other = () => ({ api_key: capture.test.otherProject.apiToken });
  const storedOf = async (projectId: number): Promise<number> =>
    (await capture.records())
      .filter(({ header }) => header.projectId === projectId)
      .reduce((sum, { header }) => sum + header.events, 0);

  it('a project over its limit is refused and another one is not', async () => {
    await start({ projectEventsPerSecond: 100 });
    // Ten seconds of the limit may be sent at once.
    for (let sent = 0; sent < 10; sent += 1) expect((await post(100)).statusCode).toBe(200);
    const refused = await post(150);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '2']);
    expect(refused.json()).toMatchObject({ type: 'throttled_error', code: 'throttled' });
    expect(refused.json().detail).toContain('at most 100 events per second in the live lane');
    expect((await post(900, other())).statusCode).toBe(200);
    expect((await post(900, { historical_migration: true })).statusCode).toBe(200);
    capture.test.clock.advance(2000);
    expect((await post(150)).statusCode).toBe(200);
    expect([await storedOf(capture.test.project.id), await storedOf(capture.test.otherProject.id)]).toEqual([
      1150, 900,
    ]);
  });

  it('a request is accepted or refused as a whole, and a refused one leaves nothing', async () => {
    await start({ projectEventsPerSecond: 10 });
    expect((await post(60)).statusCode).toBe(200);
    expect((await post(60)).statusCode).toBe(429);
    expect((await post(40)).statusCode).toBe(200);
    expect(await storedOf(capture.test.project.id)).toBe(100);
  });

  it('a batch above the limit is accepted when nothing else was sent, and paid off afterwards', async () => {
    await start({ projectEventsPerSecond: 10 });
    expect((await post(500)).statusCode).toBe(200);
    const refused = await post(1);
    expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '41']);
    capture.test.clock.advance(40_100);
    expect((await post(1)).statusCode).toBe(200);
  });

  it('body bytes count as received, and are limited separately from events', async () => {
    const json = JSON.stringify({ api_key: 'K', batch: [{ ...eventOf(1), properties: { text: 'x'.repeat(20_000) } }] });
    await start({ projectBytesPerSecond: 2500 });
    const body = json.replace('"K"', JSON.stringify(capture.token));
    const send = (payload: string | Buffer, headers: Record<string, string> = {}) =>
      capture.test.inject({ method: 'POST', url: '/batch/', payload, headers });
    expect((await send(body)).statusCode).toBe(200);
    const refused = await send(body);
    expect(refused.statusCode).toBe(429);
    expect(refused.json().detail).toContain('2500 body bytes per second');
    expect((await send(gzipSync(body), { 'content-encoding': 'gzip' })).statusCode).toBe(200);
  });

  it('each protocol answers in its own form, with 429 and Retry-After', async () => {
    await start({ projectEventsPerSecond: 1 });
    expect((await post(10)).statusCode).toBe(200);
    const v1 = await capture.test.inject({
      method: 'POST',
      url: '/i/v1/analytics/events',
      headers: {
        authorization: `Bearer ${capture.token}`,
        'content-type': 'application/json',
        'user-agent': 'test',
        'posthog-sdk-info': 'test/1',
        'posthog-attempt': '1',
        'posthog-request-id': '01890a5d-ac96-774b-bcce-b302099a8057',
        'posthog-request-timestamp': '2026-01-01T00:00:00Z',
      },
      payload: JSON.stringify({
        created_at: '2026-01-01T00:00:00Z',
        batch: [{ ...eventOf(1), uuid: '01890a5d-ac96-774b-bcce-b302099a8057' }],
      }),
    });
    expect([v1.statusCode, v1.headers['retry-after'], v1.json().error]).toEqual([429, '1', 'rate_limited']);
    const message = { type: 'track', event: 'a', userId: 'u' };
    const payload = JSON.stringify({ writeKey: capture.token, batch: [message] });
    const segment = await capture.test.inject({ method: 'POST', url: '/v1/batch', payload });
    expect([segment.statusCode, segment.headers['retry-after']]).toEqual([429, '1']);
  });

  it('a project with too many waiting bytes gets 503 until they are stored, and another one is accepted', async () => {
    await start({ projectBacklogBytes: 1000 });
    expect((await post(10)).statusCode).toBe(200);
    const full = await post(1);
    expect([full.statusCode, full.headers['retry-after'], full.json().code]).toEqual([503, '5', 'unavailable']);
    expect(full.json().detail).toContain('limit of 1000 waiting bytes');
    expect((await post(10, other())).statusCode).toBe(200);
    expect((await post(10, { historical_migration: true })).statusCode).toBe(200);
    capture.log.reader.commit('live', 1);
    expect((await post(1)).statusCode).toBe(200);
  });

  it('a batch that could not be stored does not count', async () => {
    await start({ projectEventsPerSecond: 10 });
    capture.log.failAppends('disk full');
    expect((await post(100)).statusCode).toBe(503);
    capture.log.failAppends(undefined);
    expect((await post(100)).statusCode).toBe(200);
  });

  it('a changed limit applies to the next request, and limits of one project leave the others alone', async () => {
    await start({ projectEventsPerSecond: 10 });
    const set = (limits: Partial<LimitOverrides>) =>
      capture.limits.replace(new Map([[capture.test.project.id, { ...noOverrides, ...limits }]]));
    expect((await post(100)).statusCode).toBe(200);
    expect((await post(100, other())).statusCode).toBe(200);
    expect((await post(1)).statusCode).toBe(429);
    set({ events_per_second: 1000 });
    expect((await post(5000)).statusCode).toBe(200);
    expect((await post(1, other())).statusCode).toBe(429);
    set({ events_per_second: 0 });
    for (let sent = 0; sent < 3; sent += 1) expect((await post(5000)).statusCode).toBe(200);
    capture.limits.replace(new Map());
    expect((await post(200)).statusCode).toBe(200);
    expect((await post(1)).statusCode).toBe(429);
  });

  it('refused requests and events are counted by limit, and reported with their project', async () => {
    await start({ projectEventsPerSecond: 1 });
    capture.limits.meters.tick(1);
    expect((await post(10)).statusCode).toBe(200);
    await post(3);
    await post(4);
    const text = await capture.metrics.text();
    expect(text).toContain('millrace_limited_requests_total{lane="live",limit="events_per_second"} 2');
    expect(text).toContain('millrace_limited_events_total{lane="live",limit="events_per_second"} 7');
    const { id: projectId } = capture.test.project;
    expect(capture.limited).toEqual(
      [3, 4].map((events) => ({ projectId, lane: 'live', limit: 'events_per_second', events })),
    );
    capture.test.clock.advance(1000);
    capture.limits.meters.tick(1);
    expect([
      capture.limits.meters.nearLimit('events_per_second'),
      capture.limits.meters.nearLimit('bytes_per_second'),
    ]).toEqual([1, 0]);
  });
});

describe('processes that share a limit', () => {
  const limit = 1000;

  /** Sends to each process what `offers` says, events per second, and exchanges sums as the database does. Returns what each admitted per second. */
  function simulate(offers: readonly number[], seconds: number, ignored = 0): number[] {
    let now = 0;
    const values = { events_per_second: limit, bytes_per_second: 0, backlog_bytes: 0 };
    const processes = offers.map(() => createProjectLimits(values, () => now));
    const sums = new Map<string, number>();
    const admitted = offers.map(() => 0);
    for (const { meters } of processes) meters.tick(offers.length);
    const exchange = ({ meters }: ProjectLimits): void => {
      meters.tick(offers.length);
      const counts = meters.unpublished();
      for (const { caller, more } of counts) sums.set(caller, (sums.get(caller) ?? 0) + more);
      for (const { caller } of counts)
        meters.learn({ caller, windowMs: 0, startedMsAgo: 0, used: sums.get(caller) ?? 0 });
    };
    for (let ms = 0; ms < seconds * 1000; ms += 10) {
      now = ms;
      processes.forEach((process, at) => {
        const batch = { projectId: 7, lane: 'live', events: (offers[at] ?? 0) / 100 } as const;
        const isAdmitted = process.take(batch, 1) === undefined;
        if (isAdmitted && ms >= ignored * 1000) admitted[at] = (admitted[at] ?? 0) + batch.events;
        if (ms > 0 && ms % 1000 === 100 * at) exchange(process);
      });
    }
    return admitted.map((events) => Math.round(events / (seconds - ignored)));
  }

  it.each([
    ['evenly', [3000, 3000, 3000]],
    ['unevenly', [9000, 1000, 2000]],
    ['almost only through one', [9000, 0, 0]],
  ])('admit together what one would, however a project spreads its requests: %s', (_, offers) => {
    const admitted = simulate(offers, 120, 30);
    const sum = admitted.reduce((all, each) => all + each, 0);
    expect(sum).toBeGreaterThan(0.9 * limit);
    expect(sum).toBeLessThan(1.1 * limit);
  });

  it('each admit their part of what was offered, so that no process starves', () => {
    const [first = 0, second = 0] = simulate([6000, 2000], 120, 30);
    expect(first / second).toBeGreaterThan(2);
    expect(first / second).toBeLessThan(4);
  });

  it('admit little more than ten seconds of a limit at once when a project begins to storm', () => {
    const admitted = simulate([1500, 1500, 1500, 1500, 1500, 1500, 1500, 1500], 10);
    expect(admitted.reduce((all, each) => all + each, 0) * 10).toBeLessThan(22 * limit);
  });

  it('refuse nothing of a project that stays below its limit', () => {
    expect(simulate([400, 400, 0], 60)).toEqual([400, 400, 0]);
    expect(simulate([800, 0, 0], 60)).toEqual([800, 0, 0]);
  });

  it.each([
    [1000, 0, 0, 4],
    [1000, 10, 50, 4],
    [1000, 900, 900, 4],
    [1000, 5000, 9000, 4],
  ])('the parts of all processes sum up to the limit: %i, %i of %i, %i processes', (whole, own, all, processes) => {
    const rest = Array.from({ length: processes - 1 }, () => (all - own) / (processes - 1));
    const sum = [own, ...rest].reduce((total, each) => total + shareOf(whole, each, all, processes), 0);
    expect(sum).toBeCloseTo(whole, 6);
  });
});
