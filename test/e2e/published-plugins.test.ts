/** Plugins as npm has them: fetched from a registry, checked, set up and run by the real program. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { create } from 'tar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PluginConfigRecord } from '../../src/wire/contract/plugin-configs.ts';
import type { PluginMetricsRecord } from '../../src/wire/contract/plugin-view.ts';
import type { PluginRecord } from '../../src/wire/contract/plugins.ts';
import { startPackageServer, type PackageServer } from '../support/package-server.ts';
import { writeCityDatabase } from '../support/mmdb.ts';
import { readAllEvents } from '../support/ledger.ts';
import { apiGet, personalKey, projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

const geoip = '@posthog/geoip-plugin';
const userAgent = '@posthog/user-agent-app';
const plugins = '/api/projects/@current/plugins/';
const configs = '/api/projects/@current/pipeline_transformation_configs/';
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:121.0) Gecko/20100101 Firefox/121.0';

let server: TestServer;
let registry: PackageServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;

beforeAll(async () => {
  dataDir = await tempDataDir();
  registry = await startPackageServer();
  for (const name of [geoip, userAgent]) registry.publish(name, { [versionOf(name)]: await packed(name) });
  const city = join(dataDir.path, 'city.mmdb');
  await writeCityDatabase(city, [
    {
      network: '89.160.20.112/28',
      record: {
        city: { names: { en: 'Linköping' } },
        country: { names: { en: 'Sweden' }, iso_code: 'SE' },
        continent: { names: { en: 'Europe' }, code: 'EU' },
        location: { latitude: 58.4167, longitude: 15.6167, time_zone: 'Europe/Stockholm' },
        subdivisions: [{ names: { en: 'Östergötland County' }, iso_code: 'E' }],
      },
    },
  ]);
  server = await startServer(dataDir.path, {
    MILLRACE_NPM_REGISTRY: registry.npmRegistry,
    MILLRACE_OUTBOUND_ALLOW: new URL(registry.url).host,
    MILLRACE_GEOIP_DATABASE: city,
  });
});
afterAll(async () => {
  await server.terminate();
  await registry[Symbol.asyncDispose]();
  await dataDir[Symbol.asyncDispose]();
});

function folderOf(name: string): string {
  return fileURLToPath(new URL(`../../node_modules/${name}/`, import.meta.url));
}

function versionOf(name: string): string {
  const { version } = JSON.parse(readFileSync(`${folderOf(name)}package.json`, 'utf8')) as { version: string };
  return version;
}

/** As `npm pack` does. */
async function packed(name: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  const archive = create({ gzip: true, cwd: folderOf(name), prefix: 'package', portable: true }, ['.']);
  for await (const part of archive) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

async function request(method: string, path: string, body: object): Promise<Response> {
  return fetch(server.url + path, {
    method,
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function api<T>(method: string, path: string, body: object): Promise<T> {
  const answer = await request(method, path, body);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`expected ${method} ${path} to succeed, got: ${answer.status} ${text}`);
  return JSON.parse(text) as T;
}

async function enable(plugin: PluginRecord): Promise<number> {
  const { id } = await api<PluginConfigRecord>('POST', configs, { plugin: plugin.id });
  await api('PATCH', `${configs}${id}/`, { enabled: true });
  return id;
}

/** Properties as they are stored, in the order in which the events were sent. */
async function sendAndRead(...all: readonly Record<string, unknown>[]): Promise<Record<string, unknown>[]> {
  const batch = all.map((properties) => ({ uuid: randomUUID(), event: 'seen', distinct_id: 'ann', properties }));
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: projectKey, batch }),
  });
  expect(answer.status).toBe(200);
  const read = async () => new Map((await readAllEvents(server)).map(({ id, properties }) => [id, properties]));
  await expect.poll(async () => (await read()).size).toBeGreaterThanOrEqual(batch.length);
  const stored = await read();
  return batch.map(({ uuid }) => stored.get(uuid) ?? {});
}

describe('published plugins from a registry', () => {
  it('install by name, by name and version, and run in order, unmodified', async () => {
    const places = await api<PluginRecord>('POST', plugins, { npm: geoip });
    const agents = await api<PluginRecord>('POST', plugins, { npm: `${userAgent}@${versionOf(userAgent)}` });
    expect([places, agents]).toMatchObject([
      { source_kind: 'npm', source_url: `npm:${geoip}@${versionOf(geoip)}`, families: ['transformation'] },
      { source_kind: 'npm', source_url: `npm:${userAgent}@${versionOf(userAgent)}`, families: ['transformation'] },
    ]);
    const ids = [await enable(places), await enable(agents)] as const;
    await sleep(2500);

    const [both, noPlace, opted] = await sendAndRead(
      { $ip: '89.160.20.112', $useragent: firefox },
      { $ip: '203.0.113.9' },
      { $ip: '89.160.20.112', $geoip_disable: true },
    );
    const markers = [`${places.name} (${ids[0]})`, `${agents.name} (${ids[1]})`];
    expect(both).toMatchObject({
      $geoip_city_name: 'Linköping',
      $geoip_country_code: 'SE',
      $geoip_continent_code: 'EU',
      $geoip_time_zone: 'Europe/Stockholm',
      $geoip_subdivision_1_name: 'Östergötland County',
      $set: { $geoip_city_name: 'Linköping' },
      $set_once: { $initial_geoip_city_name: 'Linköping' },
      $browser: 'firefox',
      $os: 'Windows 10',
      $plugins_succeeded: markers,
      $plugins_failed: [],
    });
    expect(noPlace).toMatchObject({ $plugins_succeeded: markers });
    for (const event of [noPlace, opted]) expect(event).not.toHaveProperty('$geoip_city_name');

    for (const id of ids) {
      const counts = async () => (await apiGet<PluginMetricsRecord>(server, `${configs}${id}/metrics/`)).totals;
      await expect.poll(counts).toMatchObject({ succeeded: 3, failed: 0, dropped: 0, skipped: 0 });
      expect(await apiGet<PluginConfigRecord>(server, `${configs}${id}/`)).toMatchObject({ error: '' });
    }
    const persons = await apiGet<{ results: { properties: object }[] }>(
      server,
      '/api/projects/@current/persons/?distinct_id=ann',
    );
    expect(persons.results[0]?.properties).toMatchObject({ $geoip_country_name: 'Sweden' });
  });

  it('a package that does not match the checksum of the registry is not installed', async () => {
    const bytes = await packed(geoip);
    const dist = (_bytes: Uint8Array, tarball: string) => ({ tarball, integrity: `sha512-${'A'.repeat(86)}==` });
    registry.publish('geoip-tampered', { '1.0.0': bytes }, { dist });
    const before = await apiGet<{ count: number }>(server, plugins);
    const answer = await request('POST', plugins, { npm: 'geoip-tampered' });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      attr: 'npm',
      detail: expect.stringContaining('does not match') as string,
    });
    expect((await apiGet<{ count: number }>(server, plugins)).count).toBe(before.count);
  });
});
