/** The real posthog-node client from npm against the real program, in both of its capture modes. */
import { PostHog } from 'posthog-node';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
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

interface StoredEvent {
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Record<string, unknown>;
  readonly person: { readonly properties: Record<string, unknown>; readonly distinct_ids: string[] } | null;
  readonly historical_migration: boolean;
}

describe.each(['v0', 'v1'] as const)('posthog-node, capture mode %s', (captureMode) => {
  let server: TestServer;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;

  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path);
  });
  afterAll(async () => {
    await server.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  const client = (more: object = {}): PostHog => {
    // The client reads its mode from the environment when it is made.
    vi.stubEnv('POSTHOG_CAPTURE_MODE', captureMode);
    return new PostHog(projectKey, { host: server.url, flushAt: 10, ...more });
  };
  const failures = (posthog: PostHog): unknown[] => {
    const seen: unknown[] = [];
    posthog.on('error', (error: unknown) => seen.push(error));
    return seen;
  };

  it('capture, identify, alias, groupIdentify, captureImmediate and shutdown all arrive and keep persons merged', async () => {
    const posthog = client();
    const errors = failures(posthog);
    posthog.capture({ distinctId: 'anon-1', event: 'page read', properties: { path: '/a' } });
    posthog.identify({ distinctId: 'ada', properties: { $anon_distinct_id: 'anon-1', $set: { plan: 'paid' } } });
    posthog.alias({ distinctId: 'ada', alias: 'ada@example.com' });
    posthog.groupIdentify({ groupType: 'company', groupKey: 'acme', properties: { seats: 12 } });
    posthog.capture({ distinctId: 'ada', event: 'report opened', groups: { company: 'acme' } });
    await posthog.captureImmediate({ distinctId: 'ada', event: 'report exported' });
    await posthog.shutdown();
    expect(errors).toEqual([]);
    await untilSettled(server, { standard: 6, historical: 0 });
    const page = await apiGet<{ results: StoredEvent[] }>(server, '/api/projects/@current/events/?distinct_id=ada');
    expect(page.results.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['$identify', '$create_alias', 'report opened', 'report exported']),
    );
    expect(page.results[0]?.person?.properties).toMatchObject({ plan: 'paid' });
    const people = await apiGet<{ results: { distinct_ids: string[] }[] }>(
      server,
      '/api/projects/@current/persons/?distinct_id=anon-1',
    );
    expect(people.results.map((person) => person.distinct_ids.sort())).toEqual([['ada', 'ada@example.com', 'anon-1']]);
    const group = await apiGet<{ group_properties: object }>(
      server,
      '/api/projects/@current/groups/find/?group_type_index=0&group_key=acme',
    );
    expect(group.group_properties).toEqual({ seats: 12 });
  });

  it('the calls of a starting client with feature flags are answered', async () => {
    const posthog = client({ personalApiKey: personalKey, featureFlagsPollingInterval: 60_000 });
    const errors = failures(posthog);
    await posthog.reloadFeatureFlags();
    expect(await posthog.getAllFlags('ada')).toEqual({});
    await posthog.shutdown();
    expect(errors).toEqual([]);
  });

  it('historicalMigration keeps the time of the source and counts as historical, sent twice or once', async () => {
    const uuid = '018f2f64-53a4-7c3a-9a7e-0242ac120002';
    for (let time = 0; time < 2; time++) {
      const posthog = client({ historicalMigration: true });
      const errors = failures(posthog);
      posthog.capture({
        distinctId: 'old-friend',
        event: 'signed up',
        timestamp: new Date('2019-03-04T05:06:07.089Z'),
        uuid,
      });
      await posthog.shutdown();
      expect(errors).toEqual([]);
    }
    const counts = await untilStored(server, { historical: 1 });
    expect(counts.total.historical).toBe(1);
    const page = await apiGet<{ results: StoredEvent[] }>(
      server,
      '/api/projects/@current/events/?distinct_id=old-friend',
    );
    expect(page.results).toHaveLength(1);
    expect(page.results[0]).toMatchObject({ timestamp: '2019-03-04T05:06:07.089000Z', historical_migration: true });
  });
});
