import { PostHog, type PostHogOptions } from 'posthog-node';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestCapture, type TestCapture } from './capture.fixture.ts';

/** The unmodified client library that most servers use, against the real server over a socket. */
let capture: TestCapture;
beforeAll(async () => {
  capture = await startTestCapture();
  // The library uses the real clock: its events must not be in the server's future.
  capture.test.clock.advance(Date.now() - capture.test.clock.now());
});
afterAll(async () => {
  await capture[Symbol.asyncDispose]();
});

async function client(options: PostHogOptions = {}): Promise<{ posthog: PostHog; errors: unknown[] }> {
  const posthog = new PostHog(capture.token, { host: await capture.url(), fetchRetryDelay: 20, ...options });
  const errors: unknown[] = [];
  posthog.on('error', (error: unknown) => errors.push(error));
  return { posthog, errors };
}

describe('posthog-node', () => {
  it('sends every kind of event, and none is refused', async () => {
    const { posthog, errors } = await client();
    posthog.capture({
      distinctId: 'u1',
      event: 'signed up',
      properties: { plan: 'pro', none: undefined, nan: Number.NaN },
      groups: { company: 'acme' },
    });
    posthog.capture({
      distinctId: 'u1',
      event: 'invalid id',
      uuid: 'not a uuid',
      timestamp: new Date('2024-02-03T04:05:06Z'),
    });
    posthog.identify({ distinctId: 'u1', properties: { $set: { name: 'Ada' } } });
    posthog.alias({ distinctId: 'u1', alias: 'other' });
    posthog.groupIdentify({ groupType: 'company', groupKey: 'acme', properties: { size: 5 } });
    posthog.captureException(new Error('boom'), 'u1');
    await posthog.shutdown();
    const events = (await capture.events()) as { event: string }[];
    expect(events.map(({ event }) => event).sort()).toEqual([
      '$create_alias',
      '$exception',
      '$groupidentify',
      '$identify',
      'invalid id',
      'signed up',
    ]);
    const records = await capture.records();
    expect(records.map(({ header }) => header.encoding)).toContain('gzip');
    expect(records.every(({ header }) => header.sentAt !== undefined)).toBe(true);
    expect(records.reduce((sum, { header }) => sum + header.events, 0)).toBe(events.length);
    expect(errors).toEqual([]);
  });

  it('sends history to the historical lane', async () => {
    const { posthog } = await client({ historicalMigration: true });
    posthog.capture({ distinctId: 'u1', event: 'old', timestamp: new Date('2020-01-01T00:00:00Z') });
    await posthog.shutdown();
    expect(await capture.events('historical')).toMatchObject([{ event: 'old', timestamp: '2020-01-01T00:00:00.000Z' }]);
  });

  it('retries after 503 and loses nothing', async () => {
    const before = (await capture.records()).length;
    const { posthog, errors } = await client();
    capture.log.failAppends('disk full');
    posthog.capture({ distinctId: 'u1', event: 'kept' });
    const flushed = posthog.flush();
    setTimeout(() => capture.log.failAppends(undefined), 30);
    await flushed;
    await posthog.shutdown();
    expect(errors).toEqual([]);
    expect((await capture.records()).length).toBe(before + 1);
  });

  it('halves its batch after 413 and sends the rest', async () => {
    const small = await startTestCapture({ settings: { captureBodyBytesMax: 20_000 } });
    const posthog = new PostHog(small.token, { host: await small.url(), disableCompression: true, flushAt: 100 });
    for (let i = 0; i < 40; i++)
      posthog.capture({ distinctId: 'u1', event: `e${i}`, properties: { pad: 'x'.repeat(900) } });
    await posthog.flush();
    await posthog.shutdown();
    const count = (await small.events()).length;
    await small[Symbol.asyncDispose]();
    expect(count).toBe(40);
  });

  it('gets an empty set of flags', async () => {
    const { posthog } = await client();
    expect(await posthog.getAllFlags('u1')).toEqual({});
    await posthog.shutdown();
  });

  it('gets no payload for a remote config flag', async () => {
    const { posthog, errors } = await client({ personalApiKey: 'phx_any', featureFlagsPollingInterval: 60_000 });
    expect(await posthog.getRemoteConfigPayload('beta')).toBeNull();
    await posthog.shutdown();
    expect(errors).toEqual([]);
  });

  it('speaks the v1 protocol, including history', async () => {
    vi.stubEnv('POSTHOG_CAPTURE_MODE', 'v1');
    const before = (await capture.events('historical')).length;
    const { posthog, errors } = await client({ historicalMigration: true });
    const timestamp = new Date('2020-01-01T00:00:00Z');
    posthog.capture({ distinctId: 'u1', event: 'v1 event', timestamp, properties: { $session_id: 's1' } });
    posthog.identify({ distinctId: 'u1', properties: { $set: { name: 'Ada' } } });
    await posthog.shutdown();
    vi.unstubAllEnvs();
    const events = (await capture.events('historical')).slice(before);
    expect(events).toMatchObject([
      {
        event: 'v1 event',
        distinct_id: 'u1',
        timestamp: '2020-01-01T00:00:00.000Z',
        properties: { $session_id: 's1', $lib: 'posthog-node', $lib_version: expect.stringMatching(/^\d+\./) },
      },
      { event: '$identify', properties: { $set: { name: 'Ada' } } },
    ]);
    // Only the v1 protocol writes its own batch to the log.
    expect((await capture.records('historical')).at(-1)?.header.encoding).toBe('identity');
    expect(errors).toEqual([]);
  });
});
