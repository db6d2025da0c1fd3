import { afterEach, describe, expect, it } from 'vitest';
import type { Settings } from '../../server/config/settings.ts';
import { startTestCapture, type TestCapture, type TestCaptureOptions } from './capture.fixture.ts';

/** When the service cannot accept events, clients always get 503 with Retry-After, so that they keep them. */
let capture: TestCapture;
const start = async (settings: Partial<Settings> = {}, more: TestCaptureOptions = {}): Promise<void> => {
  capture = await startTestCapture({ settings, ...more });
};
afterEach(async () => {
  await capture[Symbol.asyncDispose]();
});

const post = (more: object = {}, events = 1) => {
  const batch = Array.from({ length: events }, () => ({
    event: 'a',
    distinct_id: 'u',
    timestamp: '2020-01-01T00:00:00Z',
  }));
  const payload = JSON.stringify({ api_key: capture.token, batch, ...more });
  return capture.test.inject({ method: 'POST', url: '/batch/', payload });
};

describe('failures behind ingest', () => {
  it('a log that cannot be written answers 503, stores nothing and recovers', async () => {
    await start();
    capture.log.failAppends('disk full');
    const answer = await post();
    expect([answer.statusCode, answer.headers['retry-after'], answer.json().code]).toEqual([503, '5', 'unavailable']);
    expect(answer.body).not.toContain('disk full');
    capture.log.failAppends(undefined);
    expect((await post()).statusCode).toBe(200);
    expect(await capture.records()).toHaveLength(1);
  });

  it('a full lane answers 503 while the other lane continues', async () => {
    await start({ backlogEventsMax: 1000 });
    expect((await post({}, 1000)).statusCode).toBe(200);
    const full = await post();
    expect([full.statusCode, full.headers['retry-after']]).toEqual([503, '5']);
    expect((await post({ historical_migration: true })).statusCode).toBe(200);
    capture.log.reader.commit('live', 1);
    expect((await post()).statusCode).toBe(200);
  });

  it('a project that fills its share of a lane gets 503 until its events are stored, and others are accepted', async () => {
    await start({ backlogEventsMax: 1000 });
    const other = { api_key: capture.test.otherProject.apiToken };
    for (let sent = 0; sent < 8; sent += 1) expect((await post({}, 100)).statusCode).toBe(200);
    const full = await post();
    expect([full.statusCode, full.headers['retry-after'], full.json().code]).toEqual([503, '5', 'unavailable']);
    expect(full.json().detail).toContain("project's share of the live lane");
    expect((await post(other, 100)).statusCode).toBe(200);
    expect((await post({ historical_migration: true }, 100)).statusCode).toBe(200);
    // The next project may use four fifths of the rest.
    expect((await post(other, 60)).statusCode).toBe(200);
    expect((await post(other)).statusCode).toBe(503);
    capture.log.reader.commit('live', 8);
    for (const body of [{}, other]) expect((await post(body, 100)).statusCode).toBe(200);
  });

  it('the share of a project counts bytes as well as events', async () => {
    await start({ backlogBytesMax: 1_048_576 });
    expect((await post({ padding: 'x'.repeat(900_000) })).statusCode).toBe(200);
    expect((await post()).statusCode).toBe(503);
    expect((await post({ api_key: capture.test.otherProject.apiToken })).statusCode).toBe(200);
  });

  it('a lane counts bytes as well as events', async () => {
    await start({ backlogBytesMax: 1_048_576 });
    expect((await post({ padding: 'x'.repeat(1_048_576) })).statusCode).toBe(200);
    expect((await post()).statusCode).toBe(503);
  });

  it('a key that cannot be looked up gets 503, never 401', async () => {
    await start();
    capture.failLookUps(true);
    const answer = await post();
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5']);
    capture.failLookUps(false);
    expect((await post()).statusCode).toBe(200);
  });

  it('a key that was valid keeps working while it cannot be looked up', async () => {
    await start();
    await post();
    capture.failLookUps(true);
    capture.test.clock.advance(60_000);
    expect((await post()).statusCode).toBe(200);
  });

  it('counts received and discarded events', async () => {
    await start();
    await post({}, 3);
    await capture.test.inject({
      method: 'POST',
      url: '/batch/',
      payload: JSON.stringify({ api_key: capture.token, batch: [{ event: 'a', distinct_id: 'u' }, { event: 'a' }] }),
    });
    const text = await capture.metrics.text();
    expect(text).toContain('millrace_component_received_events_total{component="capture",lane="live"} 4');
    expect(text).toMatch(/received_bytes_total\{component="capture",lane="live"\} [1-9]\d\d/);
    expect(text).toMatch(/discarded_events_total\{.*reason="missing_distinct_id",intentional="false"\} 1/);
    expect(text).toContain('millrace_ingest_ack_seconds_count{lane="live"} 2');
  });
});

describe('historical imports that need an agreement', () => {
  it('are limited to 10,000 events per minute without one, with 429 and Retry-After, while live events are not', async () => {
    await start({ historicalAgreement: 'required' });
    expect((await post({ historical_migration: true }, 10_000)).statusCode).toBe(200);
    const held = await post({ historical_migration: true }, 600);
    expect([held.statusCode, held.headers['retry-after']]).toEqual([429, '4']);
    expect(held.json().detail).toContain('historical_migrations');
    expect((await post({}, 600)).statusCode).toBe(200);
    capture.test.clock.advance(4000);
    expect((await post({ historical_migration: true }, 600)).statusCode).toBe(200);
  });

  it('get their events back if the log could not store them', async () => {
    await start({ historicalAgreement: 'required' });
    capture.log.failAppends('disk full');
    expect((await post({ historical_migration: true }, 10_000)).statusCode).toBe(503);
    capture.log.failAppends(undefined);
    expect((await post({ historical_migration: true }, 10_000)).statusCode).toBe(200);
  });

  it('are not limited if agreements are optional', async () => {
    await start();
    for (let i = 0; i < 3; i++) expect((await post({ historical_migration: true }, 10_000)).statusCode).toBe(200);
  });
});
