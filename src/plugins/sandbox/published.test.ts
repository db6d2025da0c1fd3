import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundle } from '../packages/bundle.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { createSandbox, type IsolatedSandbox } from './create-sandbox.ts';
import type { InstanceServices, InstanceSpec, SandboxEvent, SandboxInstance } from './sandbox.ts';

/** Published packages as npm delivers them (devDependencies), nothing changed. */
const packages = new URL('../../../node_modules/@posthog/', import.meta.url);

let sandbox: IsolatedSandbox;

beforeAll(() => {
  sandbox = createSandbox({
    memoryBytesMax: 134_217_728,
    processBytesMax: 1_610_612_736,
    cpuMs: 1000,
    waitMs: 5000,
    taskMs: 10_000,
    instancesMax: 10,
    idleMs: 60_000,
    outbound: { allow: '', timeoutMs: 1000, bytesMax: 1_000_000 },
    // The package contains MaxMind's test database.
    geoipDatabase: fileURLToPath(new URL('geoip-plugin/GeoLite2-City-Test.mmdb', packages)),
    log: createLog('silent'),
  });
});

afterAll(() => sandbox.close());

function services(): InstanceServices {
  const cached = new Map<string, string>();
  const never = (): Promise<never> => Promise.reject(new Error('expected no such call'));
  return {
    storage: { get: never, getMany: never, set: never, delete: never, increment: never },
    cache: {
      get: (key) => Promise.resolve(cached.get(key)),
      set: (key, value) => Promise.resolve(void cached.set(key, value)),
      delete: never,
      increment: never,
      expire: never,
      listPush: never,
      listRange: never,
      listLength: never,
      listRemove: never,
      listPop: never,
    },
    capture: never,
    enqueueJob: never,
    api: never,
    log: () => undefined,
    metric: () => undefined,
  };
}

async function open(name: string, entry: string, settings: InstanceSpec['settings'] = {}): Promise<SandboxInstance> {
  const folder = new URL(`${name}/`, packages);
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = new Map(
    paths
      .filter((path) => statSync(new URL(path, folder)).isFile())
      .map((path) => [path, readFileSync(new URL(path, folder))] as const),
  );
  const { code } = await bundle(files, entry);
  return sandbox.open({
    pluginName: name,
    code,
    configId: 1,
    projectId: 1,
    label: `${name} (1)`,
    settings,
    attachments: new Map(),
    services: services(),
  });
}

function event(properties: object): SandboxEvent {
  return {
    uuid: '0198d9a4-5f6b-7c1d-8e2f-3a4b5c6d7e8f',
    event: '$pageview',
    distinctId: 'user-1',
    teamId: 1,
    timestamp: '2026-01-02T03:04:05.000Z',
    receivedAt: Date.UTC(2026, 0, 2, 3, 4, 6),
    propertiesText: JSON.stringify(properties),
    markers: { succeeded: [], failed: [] },
  };
}

async function processed(instance: SandboxInstance, properties: object): Promise<Record<string, unknown>> {
  const [outcome] = await instance.processEvents([event(properties)]);
  if (outcome?.kind === 'failed') throw outcome.error;
  if (outcome?.kind !== 'changed') throw new Error(`expected a changed event, got ${outcome?.kind}`);
  return JSON.parse(outcome.propertiesText) as Record<string, unknown>;
}

describe('@posthog/geoip-plugin', () => {
  it('finds locations in a real database, for the event and its person', async () => {
    const instance = await open('geoip-plugin', 'index.ts');
    const first = await processed(instance, { $ip: '89.160.20.129' });
    expect(first).toMatchObject({
      $geoip_city_name: 'Linköping',
      $geoip_country_name: 'Sweden',
      $geoip_country_code: 'SE',
      $geoip_continent_code: 'EU',
      $geoip_latitude: 58.4167,
      $geoip_longitude: 15.6167,
      $geoip_time_zone: 'Europe/Stockholm',
      $geoip_subdivision_1_code: 'E',
      $set: { $geoip_city_name: 'Linköping', $geoip_postal_code: null },
      $set_once: { $initial_geoip_city_name: 'Linköping' },
      $plugins_succeeded: ['geoip-plugin (1)'],
    });
    // The person's address has not changed, which the plugin remembers in the cache.
    const second = await processed(instance, { $ip: '89.160.20.129' });
    expect(second).toMatchObject({ $geoip_city_name: 'Linköping' });
    expect(second).not.toHaveProperty('$set');
    await instance.close();
  });

  it.each([{ $ip: '10.0.0.1' }, { $ip: '89.160.20.129', $geoip_disable: true }, {}])(
    'does not change %j',
    async (properties) => {
      const instance = await open('geoip-plugin', 'index.ts');
      expect(await instance.processEvents([event(properties)])).toEqual([{ kind: 'unchanged' }]);
      await instance.close();
    },
  );
});

describe('@posthog/user-agent-app', () => {
  it('parses browsers from user agents', async () => {
    const instance = await open('user-agent-app', 'dist/index.js', {
      overrideUserAgentDetails: 'false',
      enableSegmentAnalyticsJs: 'false',
    });
    const $useragent =
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/14.1 Safari/605.1.15';
    expect(await processed(instance, { $useragent })).toMatchObject({
      $browser: 'safari',
      $browser_version: '14.1.0',
      $os: 'Mac OS',
      $device: '',
    });
    await instance.close();
  });
});
