import { describe, expect, it } from 'vitest';
import { SourceError, SourceWaitError, type Source } from '../source.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { mixpanel as mixpanelFormat } from '../formats/mixpanel/mixpanel.ts';
import { mixpanel } from './mixpanel.ts';
import {
  startExportServer,
  type Answer,
  type ExportRequestOf,
  type ExportServer,
} from '../../../test/support/export-server.ts';
import { readPart, readSource, readStubbornly, testSourceHost } from './source-host.fixture.ts';

const range = { from: '2024-03-01T00:00:00.000Z', to: '2024-03-04T00:00:00.000Z' };
const secret = 'very/secret+key';

/** Days of events: one with a late record of another day, one that is empty, one with a long number. */
const days: Readonly<Record<string, readonly string[]>> = {
  '2024-03-01': Array.from({ length: 500 }, (_, index) =>
    JSON.stringify({
      event: 'view',
      properties: { time: 1_709_251_200 + index, $insert_id: `a${index}`, text: 'ü\n' },
    }),
  ),
  '2024-03-02': [],
  '2024-03-03': [
    '{"event": "late", "properties": {"time": 1709251100, "$insert_id": "late"}}',
    '{"event":"long","properties":{"time":1709424000,"id":12345678901234567890}}',
  ],
};
const profiles = Array.from({ length: 25 }, (_, index) => ({
  $distinct_id: `user-${index}`,
  $properties: { $email: `u${index}@example.com` },
}));

const companies = Array.from({ length: 15 }, (_, index) => ({
  $distinct_id: `company-${index}`,
  $properties: { $name: `Company ${index}`, seats: index, $last_seen: '2024-03-01T00:00:00' },
}));

const lookupTables = '/api/app/projects/1234567/data-definitions/lookup-tables/';
const products = [
  { id: 5, name: 'Products' },
  { id: 6, name: 'Shops' },
];

function api({ path, method, query, form }: ExportRequestOf): Answer {
  if (path === lookupTables) return { json: { status: 'ok', results: products } };
  if (path === `${lookupTables}download/` && query.get('data-group-id') === '5') {
    return { bytes: Buffer.from('sku,title,price\na1,"Tea, green",2.50\n'), contentType: 'text/csv' };
  }
  if (path === '/api/2.0/export' && method === 'GET') return { lines: days[query.get('from_date') ?? ''] ?? [] };
  if (path !== '/api/2.0/engage' || method !== 'POST') return { status: 404, body: 'nothing here' };
  const page = Number(form.get('page') ?? 0);
  if (page > 0 && form.get('session_id') !== 'session') return { status: 400, body: '{"error": "unknown session"}' };
  if (form.has('data_group_id') && form.get('data_group_id') !== '77')
    return { status: 400, body: '{"error": "no group"}' };
  const all = form.has('data_group_id') ? companies : profiles;
  const results = all.slice(page * 10, page * 10 + 10);
  return { json: { page, page_size: 10, session_id: 'session', total: all.length, results } };
}

function sourceOf(server: Pick<ExportServer, 'url'>, settings: SettingValues = {}): Source {
  const own = { records: 'events', ...mixpanel.example, service_secret: secret, base_url: server.url, ...settings };
  return mixpanel.createSource(withDefaults(mixpanel.fields, own), fastHost());
}

/** The clock advances by a minute at each reading, so the pace of Mixpanel does not delay tests. */
function fastHost() {
  let now = Date.parse('2024-06-01T12:00:00Z');
  return testSourceHost({ now: () => (now += 60_000) });
}

function everything(found: ReadonlyMap<string, readonly string[]>): string[] {
  return [...found.values()].flat().toSorted();
}
const expected = Object.values(days).flat().toSorted();

describe('the export of Mixpanel', () => {
  it('a day is a part, requested once with both ends included; late events are kept, and no byte changes', async () => {
    await using server = await startExportServer(api);
    const found = await readSource(sourceOf(server), range);
    expect([...found.keys()]).toEqual(['2024-03-01', '2024-03-02', '2024-03-03']);
    expect(found.get('2024-03-03')?.toSorted()).toEqual(days['2024-03-03']?.toSorted());
    expect(everything(found)).toEqual(expected);
    expect(server.asked.map(({ query }) => `${query.get('from_date')} ${query.get('to_date')}`)).toEqual([
      '2024-03-01 2024-03-01',
      '2024-03-02 2024-03-02',
      '2024-03-03 2024-03-03',
    ]);
    expect(server.asked[0]?.query.get('project_id')).toBe(mixpanel.example['project_id']);
    expect(server.asked[0]?.authorization).toBe(
      `Basic ${Buffer.from(`import.mp-service-account:${secret}`).toString('base64')}`,
    );
  });

  it('several days may be one part; the last ends where the range does', async () => {
    await using server = await startExportServer(api);
    const parts = await sourceOf(server, { days_per_request: '2' }).listParts(range, {
      signal: new AbortController().signal,
    });
    expect(parts.map(({ key, detail }) => [key, detail])).toEqual([
      ['2024-03-01..2024-03-03', { from: '2024-03-01', to: '2024-03-02' }],
      ['2024-03-03', { from: '2024-03-03', to: '2024-03-03' }],
    ]);
  });

  it('gzip within gzip is decompressed', async () => {
    await using server = await startExportServer(api);
    server.layers = 2;
    expect(everything(await readSource(sourceOf(server), range))).toEqual(expected);
  });

  it.each([
    ['rateLimited', true],
    ['unavailable', true],
    ['reset', true],
    ['truncated', false],
    ['truncatedGzip', false],
  ] as const)(
    '%s: the part reports that waiting helps, and it is complete after a restart',
    async (kind, unlimited) => {
      await using server = await startExportServer(api);
      server.trouble[kind] = 1;
      const source = sourceOf(server);
      const [part] = await source.listParts(range, { signal: new AbortController().signal });
      if (part === undefined) throw new Error('expected a part');
      const error = await readPart(source, part).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SourceWaitError);
      expect(error).toMatchObject({ unlimited, ...(kind === 'rateLimited' ? { retryAfterMs: 0 } : {}) });
      server.trouble[kind] = 3;
      expect(everything(await readStubbornly(sourceOf(server), range))).toEqual(expected);
    },
  );

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'a response truncated anywhere (seed %i) is never taken for complete',
    async (seed) => {
      await using server = await startExportServer(api, seed);
      server.trouble.truncated = 1;
      const read = readSource(sourceOf(server), { ...range, to: '2024-03-02T00:00:00.000Z' });
      await expect(read).rejects.toThrow(SourceWaitError);
    },
  );

  it('rejected credentials end the run with the message of the source, without the secret', async () => {
    const said = `no access for ${secret} or ${encodeURIComponent(secret)}`;
    await using server = await startExportServer(() => ({ status: 401, body: JSON.stringify({ error: said }) }));
    const error = await readSource(sourceOf(server), range).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceError);
    expect(String(error)).toContain('Mixpanel responded 401: no access for *** or ***; check the credentials');
  });

  it('an aborted signal ends the export with its reason', async () => {
    await using server = await startExportServer(api);
    const controller = new AbortController();
    controller.abort(new Error('paused'));
    await expect(readSource(sourceOf(server), range, controller.signal)).rejects.toThrow('paused');
  });

  it('the run sends no more requests than an hour allows, and reports that it waits', async () => {
    await using server = await startExportServer(() => ({ lines: [] }));
    const now = Date.parse('2024-06-01T12:00:00Z');
    const host = testSourceHost({ now: () => now + server.asked.length * 1000 });
    const settings = { ...mixpanel.example, records: 'events', base_url: server.url };
    const source = mixpanel.createSource(withDefaults(mixpanel.fields, settings), host);
    const error = await readSource(source, { from: '2024-01-01T00:00:00.000Z', to: '2024-05-01T00:00:00.000Z' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ unlimited: true, message: expect.stringContaining('allows no more requests') });
    expect(error).toMatchObject({ retryAfterMs: 3_600_000 - 59_000 });
    expect(server.asked.length).toBe(59);
  });

  it('a run without a start is rejected, as Mixpanel does not report when its data begins', async () => {
    await using server = await startExportServer(api);
    await expect(readSource(sourceOf(server), {})).rejects.toThrow('set the first day, such as 2024-01-01');
  });
});

describe('profiles of Mixpanel', () => {
  it('are read page by page, each once, before the events', async () => {
    await using server = await startExportServer(api);
    const found = await readSource(sourceOf(server, { records: 'both' }), range);
    expect([...found.keys()][0]).toBe('profiles');
    expect(found.get('profiles')?.map((line) => JSON.parse(line) as unknown)).toEqual(profiles);
    expect(found.size).toBe(4);
  });

  it('a page that fails is requested again; those before it are not', async () => {
    await using server = await startExportServer(api);
    const source = sourceOf(server, { records: 'profiles' });
    server.trouble.rateLimited = 2;
    server.trouble.unavailable = 1;
    expect((await readSource(source, {})).get('profiles')).toHaveLength(profiles.length);
    expect(server.asked).toHaveLength(3 + 3);
  });

  it('of groups are read with their type and key, page by page, and become groups', async () => {
    await using server = await startExportServer(api);
    const found = await readSource(sourceOf(server, { records: 'profiles', group_keys: '77:company' }), {});
    expect([...found.keys()]).toEqual(['profiles', 'profiles of company']);
    const records = (found.get('profiles of company') ?? []).map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(records).toHaveLength(companies.length);
    expect(server.asked).toHaveLength(3 + 2);
    const read = mixpanelFormat.createReader({}, mixpanelFormat.names);
    const events = records.map(read).flatMap((result) => (result.kind === 'events' ? result.events : []));
    expect(events).toHaveLength(companies.length);
    expect(events[3]).toMatchObject({
      event: '$groupidentify',
      properties: { $group_type: 'company', $group_key: 'company-3', $group_set: { seats: 3 } },
    });
  });

  it('fewer profiles than announced are not taken for complete', async () => {
    const short = { page: 0, page_size: 10, session_id: 's', total: 25, results: profiles.slice(0, 9) };
    await using server = await startExportServer(() => ({ json: short }));
    await expect(readSource(sourceOf(server, { records: 'profiles' }), {})).rejects.toThrow(
      /expected 25 profiles, got 9/,
    );
  });
});

describe('lookup tables of Mixpanel', () => {
  it.each(['Products', '5'])('%s is found, and its rows are read unchanged, the key first', async (wanted) => {
    await using server = await startExportServer(api);
    server.trouble.unavailable = 1;
    const table = sourceOf(server).openTable?.(wanted);
    if (table === undefined) throw new Error('expected a source with tables');
    const rows = [...(await readSource(table, {})).values()].flat();
    expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual([{ sku: 'a1', title: 'Tea, green', price: '2.50' }]);
    expect(rows[0]).toMatch(/^\{"sku"/);
  });

  it('an unknown table is rejected with the names of the existing ones', async () => {
    await using server = await startExportServer(api);
    const table = sourceOf(server).openTable?.('Prices');
    if (table === undefined) throw new Error('expected a source with tables');
    await expect(readSource(table, {})).rejects.toThrow('"Prices", got 0; it has: Products (5), Shops (6)');
  });
});

describe('settings of Mixpanel', () => {
  it.each([
    [{ service_secret: '' }, 'service_secret'],
    [{ authentication: 'project secret' }, 'project_secret'],
    [{ base_url: 'ftp://example.com' }, 'base_url'],
    [{ base_url: 'https://user:key@example.com' }, 'base_url'],
    [{ days_per_request: '0' }, 'days_per_request'],
    [{ group_keys: 'company' }, 'group_keys'],
    [{ group_keys: '7:team, 8:team' }, 'group_keys'],
  ])('%j are rejected', (settings, key) => {
    expect(() => sourceOf({ url: '' }, settings)).toThrow(SettingsError);
    expect(() => sourceOf({ url: '' }, settings)).toThrow(`"${key}"`);
  });
});
