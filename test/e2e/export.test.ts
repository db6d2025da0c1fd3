/** Exports of the real service: the guide as written, and a service that is killed again and again while it exports. */
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportRecord } from '../../src/wire/contract/exports.ts';
import { canonicalProject } from '../support/canonical-project.ts';
import { startGuideService, type GuideService } from '../support/guide-service.ts';
import { shareOf } from '../support/page-commands.ts';
import { apiGet, personalKey, projectKey, startServer, tempDataDir, untilSettled } from '../support/server.ts';

const share = shareOf(import.meta.url);
const exportsPath = '/api/projects/@current/exports/';

/** Dirty on purpose: digits, quotes, other scripts. */
function eventOf(i: number): object {
  if (i < 7) return groupOf(i);
  return {
    uuid: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    event: i % 4 === 0 ? 'order "paid"' : '$pageview',
    distinct_id: i % 3 === 0 ? 'Zoë, O\'Brien "z"' : `user-${i % 50}`,
    timestamp: new Date(Date.UTC(2026, 9, 1 + (i % 30), 12, 0, i % 60)).toISOString(),
    properties: { plan: i % 2 === 0 ? 'pro' : 'free', id: `#${i}`, $set: { n: i }, $groups: { company: `c-${i % 7}` } },
  };
}

function groupOf(i: number): object {
  const properties = { $group_type: 'company', $group_key: `c-${i}`, $group_set: { name: `Company "${i}"` } };
  return {
    ...eventOf(i + 400_000),
    uuid: `00000000-0000-4000-9000-00000000000${i}`,
    event: '$groupidentify',
    properties,
  };
}

async function send(url: string, from: number, count: number): Promise<void> {
  const batch = Array.from({ length: count }, (_, i) => eventOf(from + i));
  const body = JSON.stringify({ api_key: projectKey, batch, historical_migration: true });
  expect((await fetch(`${url}/batch/`, { method: 'POST', body })).status).toBe(200);
}

/** Live events: ids that are merged in several ways, and numbers that no double has. */
async function live(url: string): Promise<void> {
  const at = (minute: number): string => new Date(Date.now() - 3_600_000 + minute * 60_000).toISOString();
  const events = [
    { event: 'opened', distinct_id: 'device-1', properties: { n: '#', $set_once: { first: 1 } } },
    { event: '$identify', distinct_id: 'ada', properties: { $anon_distinct_id: 'device-1', $set: { plan: 'a' } } },
    { event: '$identify', distinct_id: 'bob', properties: { $anon_distinct_id: 'device-1', $set: { plan: 'b' } } },
    { event: '$create_alias', distinct_id: 'ada', properties: { alias: 'ada@example.com' } },
    { event: 'opened', distinct_id: 'ada@example.com', properties: { $unset: ['plan'], $set: { city: 'Zürich' } } },
    { event: 'opened', distinct_id: 'null', properties: { $set: { never: true } } },
    { event: 'opened', distinct_id: 'carl', properties: { $process_person_profile: false } },
    { event: 'opened', distinct_id: ' spaced ', properties: { '': null, 'a"b': '' } },
    { event: 'opened', distinct_id: 'user-1', properties: { $set: { n: 'live' } } },
  ].map((event, i) => Object.assign(event, { timestamp: at(i) }));
  const batch = JSON.stringify(events).replace('"#"', '12345678901234567890.123');
  const body = `{"api_key":"${projectKey}","batch":${batch}}`;
  expect((await fetch(`${url}/batch/`, { method: 'POST', body })).status).toBe(200);
}

/** Lines of all parts of a table in a directory. */
async function linesIn(dir: string, table = 'events'): Promise<string[]> {
  const names = (await readdir(dir)).filter((name) => name.startsWith(`${table}-`)).sort();
  const texts = await Promise.all(
    names.map(async (name) => gunzipSync(await readFile(join(dir, name))).toString('utf8')),
  );
  return texts.join('').split('\n').slice(0, -1);
}

describe('the guide to exports', () => {
  let service: GuideService;
  beforeAll(async () => {
    service = await startGuideService();
    await send(service.server.url, 0, 400);
    await untilSettled(service.server, { historical: 400 });
  });
  afterAll(async () => service[Symbol.asyncDispose]());

  it('counts, exports everything, and exports a selection', async () => {
    await using seat = await service.open({ env: { MILLRACE_API_KEY: personalKey } });
    const [count = '', all = '', some = ''] = share.take({ page: 'docs/guides/exports.md' });
    expect(await seat.type(count)).toMatch(/^events +98$/m);
    expect(await seat.type(all)).toContain('400 events, 51 persons, 7 groups');
    const events = (await linesIn(join(seat.folder, 'export'))).map((line) => JSON.parse(line));
    expect(new Set(events.map(({ uuid }) => uuid)).size).toBe(400);
    expect(events.find(({ properties }) => properties.id === '#9')).toMatchObject({ distinct_id: 'Zoë, O\'Brien "z"' });
    const persons = (await linesIn(join(seat.folder, 'export'), 'persons')).map((line) => JSON.parse(line));
    expect(persons).toContainEqual(expect.objectContaining({ distinct_ids: ['user-1'], is_identified: false }));
    // Downloaded, checked, and then deleted in the service.
    expect(await apiGet<{ count: number }>(service.server, exportsPath)).toMatchObject({ count: 0 });
    expect(await seat.type(some)).toContain('98 events');
    expect((await readdir(join(seat.folder, 'paid'))).sort()).toEqual(['events-00001.parquet', 'manifest.json']);
  });

  it('imported into an empty service is the same: events, persons and groups', async () => {
    await live(service.server.url);
    await untilSettled(service.server, { standard: 9 });
    await using target = await startGuideService();
    await using seat = await service.open({ env: { MILLRACE_API_KEY: personalKey } });
    const expected = await canonicalProject(service.server.url);
    for (const block of share.take({ page: 'docs/guides/migrate-millrace.md' })) {
      expect(await seat.type(block)).toContain('409 events');
    }
    expect([expected.events.length, expected.groups.length]).toEqual([409, 7]);
    const shares = { csv: '--historical false', parquet: "--historical true --event '$*'", ndjson: "--event 'order*'" };
    for (const [format, which] of Object.entries(shares)) {
      await seat.type(`npx millrace events export --to ./all/${format} --format ${format} ${which}`);
    }
    const to = `--to ${target.server.url} --project-key ${projectKey} --api-key ${personalKey}`;
    expect(await seat.type(`npx millrace import millrace ./all ${to}`)).toContain('exact');
    expect(await canonicalProject(target.server.url)).toEqual(expected);
    expect(share.left()).toEqual([]);
  });
});

describe('an export of the service', () => {
  it('survives kill -9 in the middle of a part and after one, while events arrive', async () => {
    await using data = await tempDataDir();
    const failing = (failAt: string) => ({ MILLRACE_FAIL_AT: failAt, MILLRACE_ALLOW_FAILPOINTS: 'true' });
    let server = await startServer(data.path, failing('export_part_chunk:3'));
    const total = 6000;
    for (let from = 0; from < total; from += 1000) await send(server.url, from, 1000);
    await untilSettled(server, { historical: total });
    const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ tables: ['events', 'persons', 'groups'], rows_per_part: 1000 });
    const started = await fetch(server.url + exportsPath, { method: 'POST', headers, body });
    const { id } = (await started.json()) as ExportRecord;
    const read = () => apiGet<ExportRecord>(server, `${exportsPath}${id}/`);
    const points = ['export_part_written:2', ''];
    for (const [at, point] of points.entries()) {
      await expect.poll(() => server.child.signalCode, { interval: 100 }).toBe('SIGKILL');
      server = await startServer(data.path, failing(point), { waitForReady: false });
      if (point === '') await send(server.url, total + at * 100, 100);
    }
    await expect.poll(async () => (await read()).state, { interval: 200 }).toBe('done');
    const record = await read();
    expect(record.result?.rows).toEqual({ events: total, persons: 51, groups: 7 });
    const uuids = new Set<string>();
    for (const { name, rows } of record.progress?.parts.filter(({ table }) => table === 'events') ?? []) {
      const file = await fetch(`${server.url}${exportsPath}${id}/files/${name}/`, { headers });
      const lines = gunzipSync(Buffer.from(await file.arrayBuffer()))
        .toString('utf8')
        .split('\n')
        .slice(0, -1);
      expect(lines.length).toBe(rows);
      for (const line of lines) uuids.add((JSON.parse(line) as { uuid: string }).uuid);
    }
    expect(uuids.size).toBe(total);
    await server.terminate();
  });
});
