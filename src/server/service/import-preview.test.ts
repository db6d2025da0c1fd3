import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeZip, members } from '../../../test/support/archives.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { importFormatRoutes } from '../api/import-formats.ts';
import { importPreviewRoutes } from '../api/import-preview.ts';
import { importUploadRoutes } from '../api/import-uploads.ts';
import { loadSettings } from '../config/load.ts';
import { formats } from '../../imports/formats/registry.ts';
import { openStaging } from '../../imports/staging/open-staging.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { syncPlugins } from '../../plugins/built-in/sync-plugins.ts';
import { importDirs } from './import-dirs.ts';
import { previewInProcess } from './http.ts';

// Real: HTTP server, uploads, the source of files, formats, choice; metadata in SQLite.
interface Shown {
  readonly part: string;
  readonly slug: string;
  readonly bytes: number;
  readonly options: readonly object[];
  readonly events: readonly { readonly event: { readonly event: string } }[];
}
interface Body {
  readonly fitting_formats: readonly string[];
  readonly attr?: string | null;
  readonly results: readonly Shown[];
  readonly parts?: number;
  readonly detail?: string;
  readonly names: { readonly properties: object };
  readonly example: { readonly records: readonly unknown[] };
  readonly count?: number;
}
let dir: string;
let app: TestApp;
let headers: { authorization: string };
let pluginId: number;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-preview-test-'));
  const { settings } = loadSettings({ env: { MILLRACE_DATA_DIR: dir } });
  const staging = await openStaging(join(dir, 'staging'));
  app = await startTestApp((db, { clock }) => {
    const preview = previewInProcess({ settings });
    const uploads = { uploadBytesMax: 1_000_000, uploadsBytesMax: 5_000_000, uploadsDir: importDirs(settings).uploads };
    const deps = { db, clock, registry: builtInRegistry, imports: { staging, preview, ...uploads } };
    return [...importFormatRoutes(deps), ...importPreviewRoutes(deps), ...importUploadRoutes(deps)];
  });
  headers = { authorization: `Bearer ${await app.key()}` };
  await syncPlugins(app.db, builtInRegistry.list(), app.clock.now());
  pluginId = (await app.db.selectFrom('plugins').select('id').where('slug', '=', 'files').executeTakeFirstOrThrow()).id;
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

const base = '/api/projects/@current';
async function call(
  method: 'GET' | 'POST',
  path: string,
  payload?: object | Buffer,
): Promise<{ status: number; body: Body }> {
  const type = Buffer.isBuffer(payload) ? { 'content-type': 'application/octet-stream' } : {};
  const answer = await app.inject({
    method,
    url: `${base}${path}`,
    headers: { ...headers, ...type },
    ...(payload === undefined ? {} : { payload }),
  });
  return { status: answer.statusCode, body: answer.json() };
}

const rows = [
  { kind: 'Signed up', who: 'ann', at: '2026-01-05T10:00:00Z', amount: 12345678901234567890n },
  { kind: 'Left', who: 'bob', at: '2026-01-05T11:00:00Z' },
  { kind: 'Bought', who: 'ann', at: 'someday' },
  { kind: 'Bought', who: 'ann', at: '2099-01-01T00:00:00Z' },
];
const lines = [
  ...rows.map((row) =>
    JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? '@@' + String(value) : value)).replace(
      /"@@(\d+)"/,
      '$1',
    ),
  ),
  'no json',
];
const rules = { event: 'kind', distinct_id: 'who', timestamp: 'at' };
const asked = (more: object = {}) => ({
  plugin: pluginId,
  settings: { paths: 'upload:rows.jsonl' },
  format: 'mapping',
  format_options: { mapping: rules },
  ...more,
});

describe('the preview of an import', () => {
  it('of an upload in pieces shows every record with its events, or the reason for having none, and stores nothing', async () => {
    const content = Buffer.from(`${lines.join('\n')}\n`);
    expect((await call('POST', '/import_files/?name=rows.jsonl', content.subarray(0, 100))).status).toBe(201);
    // A browser that was interrupted queries the received size and continues from there.
    const { body: list } = await call('GET', '/import_files/');
    const { bytes } = list.results[0] ?? { bytes: 0 };
    const rest = await call('POST', `/import_files/?name=rows.jsonl&offset=${bytes}`, content.subarray(bytes));
    expect(rest.body).toMatchObject({ bytes: content.length });
    const { status, body } = await call('POST', '/import_preview/', asked());
    expect(status).toBe(200);
    expect(body).toMatchObject({
      format: 'mapping',
      parts: 1,
      part: 'upload:rows.jsonl',
      events: 2,
      rejected: 3,
      truncated: false,
    });
    const [first, , unreadable, future, broken] = body.results;
    expect(first).toMatchObject({
      original: lines[0],
      outcome: 'events',
      reason: null,
      events: [
        { event: { event: 'Signed up', distinct_id: 'ann', timestamp: '2026-01-05T10:00:00.000Z' }, refused: null },
      ],
    });
    expect(unreadable).toMatchObject({ outcome: 'rejected', reason: expect.stringContaining('timestamp'), events: [] });
    expect(future).toMatchObject({ outcome: 'events', events: [{ refused: { code: 'invalid_event_timestamp' } }] });
    expect(broken).toMatchObject({
      outcome: 'rejected',
      record: null,
      reason: expect.stringContaining('expected JSON'),
    });
    expect(await app.db.selectFrom('import_runs').selectAll().execute()).toEqual([]);
    expect(await readdir(join(dir, 'staging'))).toEqual([]);
  });

  it('keeps every digit', async () => {
    const url = `${base}/import_preview/`;
    const { body } = await app.inject({ method: 'POST', url, headers, payload: asked({ records: 1 }) });
    expect(body).toContain(
      '"record":{"kind":"Signed up","who":"ann","at":"2026-01-05T10:00:00Z","amount":12345678901234567890}',
    );
    expect(body).toContain('"amount":12345678901234567890,');
  });

  it('applies names and choice as a run would', async () => {
    const more = {
      names: { events: { 'Signed up': 'sign up' } },
      choose: { events: { only: ['sign up'] } },
      records: 2,
    };
    const { body } = await call('POST', '/import_preview/', asked(more));
    expect(body).toMatchObject({ events: 1, skipped: 1 });
    expect(body.results[0]?.events[0]?.event.event).toBe('sign up');
    expect(body.results[1]).toMatchObject({ outcome: 'skipped', left_out: [expect.any(String)] });
  });

  it('of several files shows records of each with their origin, and of many files those of three between first and last', async () => {
    const files = Array.from({ length: 9 }, (_, at) => `day-${at}.jsonl`);
    for (const [at, name] of files.entries()) {
      const own = { kind: `Kind ${at}`, who: 'ann', at: '2026-01-05T10:00:00Z' };
      const content = Buffer.from(`${JSON.stringify(own)}\n`.repeat(at === 0 ? 1 : 40));
      expect((await call('POST', `/import_files/?name=${name}`, content)).status).toBe(201);
    }
    const looked = async (paths: string) => {
      const { body } = await call('POST', '/import_preview/', asked({ settings: { paths }, records: 7 }));
      return { parts: body.parts, shown: body.results.map(({ part, events }) => [part, events[0]?.event.event]) };
    };
    const day = (at: number, count: number) =>
      Array.from({ length: count }, () => [`upload:day-${at}.jsonl`, `Kind ${at}`]);
    expect(await looked('upload:day-*.jsonl')).toEqual({ parts: 9, shown: [...day(0, 1), ...day(4, 3), ...day(8, 3)] });
    expect(await looked('upload:day-3.jsonl\nupload:day-5.jsonl')).toEqual({
      parts: 2,
      shown: [...day(3, 4), ...day(5, 3)],
    });
  });

  it('names a format that fits better', async () => {
    const records = formats.find(({ slug }) => slug === 'mixpanel')?.example.records ?? [];
    const content = Buffer.from(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
    await call('POST', '/import_files/?name=mp.jsonl', content);
    const settings = { paths: 'upload:mp.jsonl' };
    const { body } = await call('POST', '/import_preview/', { plugin: pluginId, settings, format: 'segment' });
    expect(body).toMatchObject({ events: 0, better_format: 'mixpanel', fitting_formats: ['mixpanel'] });
  });

  it('names every format that fits as well, whichever was requested, and none that reads only some records', async () => {
    const lines = (slug: string): string[] =>
      formats.find((each) => each.slug === slug)?.example.records.map((record) => `${JSON.stringify(record)}\n`) ?? [];
    const fitting = async (name: string, records: readonly string[], format: string) => {
      await call('POST', `/import_files/?name=${name}`, Buffer.from(records.join('')));
      const settings = { paths: `upload:${name}` };
      const { body } = await call('POST', '/import_preview/', { plugin: pluginId, settings, format, records: 5 });
      return body.fitting_formats;
    };
    for (const format of ['june', 'statsig', 'mixpanel']) {
      expect(await fitting('june.jsonl', lines('june'), format)).toEqual(['june', 'statsig']);
    }
    // The second format reads fewer of them.
    expect(await fitting('millrace.jsonl', lines('millrace'), 'posthog')).toEqual(['millrace']);
    expect(await fitting('none.jsonl', ['{"käufe":"9007199254740993123"}\n'], 'mixpanel')).toEqual([]);
  });

  it.each([2, 60])('names a format that fits better for an archive of %i small files', async (hours) => {
    const records = formats.find(({ slug }) => slug === 'amplitude')?.example.records ?? [];
    const content = records.map((record) => `${JSON.stringify(record)}\n`).join('');
    const files = Array.from({ length: hours }, (_, hour): [string, string] => [`321/321_${hour}#0.json`, content]);
    await call('POST', `/import_files/?name=hours-${hours}.zip`, makeZip(members(Object.fromEntries(files))));
    const settings = { paths: `upload:hours-${hours}.zip` };
    for (const [format, better] of [
      ['adobe-analytics', 'amplitude'],
      ['amplitude', null],
    ]) {
      const { body } = await call('POST', '/import_preview/', { plugin: pluginId, settings, format, records: 5 });
      expect(body).toMatchObject({ better_format: better });
      expect(body.results).toHaveLength(Math.min(5, hours * records.length));
    }
  });

  it('skips files without records of the format', async () => {
    const { example } = formats.find(({ slug }) => slug === 'amplitude') ?? {};
    const event = JSON.stringify(example?.records[0]);
    const manifests = Array.from({ length: 3 }, (_, at): [string, string] => [`manifest-${at}.json`, '{"files":1}\n']);
    const archive = Object.fromEntries([...manifests, ['hour.json', `${event}\n`]]);
    await call('POST', '/import_files/?name=manifests.zip', makeZip(members(archive)));
    const settings = { paths: 'upload:manifests.zip' };
    const { body } = await call('POST', '/import_preview/', { plugin: pluginId, settings, format: 'amplitude' });
    expect(body).toMatchObject({ rejected: 0, better_format: null });
    expect(body.results).toHaveLength(1);
  });

  it.each<[string, object, string | null, string]>([
    ['neither config nor plugin', { plugin: undefined }, 'config_id', 'either'],
    ['an unknown setting', { settings: { nope: 1 } }, 'settings.nope', 'Unknown setting'],
    ['a missing file', { settings: { paths: 'upload:gone.jsonl' } }, null, 'gone.jsonl'],
    ['invalid rules', { format_options: { mapping: { event: 'x' } } }, null, 'distinct_id'],
  ])('refuses %s with a sentence', async (_name, more, attr, detail) => {
    const { status, body } = await call('POST', '/import_preview/', asked(more));
    expect([status, body.attr]).toEqual([400, attr]);
    expect(body.detail).toContain(detail);
  });
});

describe('formats', () => {
  it('are listed with their options, and shown with names and an example', async () => {
    const { body } = await call('GET', '/import_formats/');
    expect(body.count).toBe(formats.length);
    const summary = body.results.find(({ slug }) => slug === 'mapping');
    expect(summary?.options[0]).toMatchObject({
      key: 'mapping',
      schema: { required: ['timestamp'] },
    });
    const mixpanel = (await call('GET', '/import_formats/mixpanel/')).body;
    expect(mixpanel).toMatchObject({ slug: 'mixpanel', sources: ['mixpanel'] });
    expect(Object.keys(mixpanel.names.properties).length).toBeGreaterThan(5);
    expect(mixpanel.example.records.length).toBeGreaterThan(0);
    expect((await call('GET', '/import_formats/unknown/')).status).toBe(404);
  });

  it('uses stored secrets only for the address that they were set for, and records it in the activity log', async () => {
    await call('POST', '/import_files/?name=kept.jsonl', Buffer.from(`${lines.join('\n')}\n`));
    const time = new Date(app.clock.now()).toISOString();
    const settings = { paths: 'upload:kept.jsonl', target_url: 'https://a.example', target_api_key: 'phc_kept' };
    const { id: project_id } = await app.db.selectFrom('projects').select('id').executeTakeFirstOrThrow();
    const { id: config_id } = await app.db
      .insertInto('plugin_configs')
      .values({
        project_id,
        family: 'import-app',
        plugin_id: pluginId,
        plugin_version_id: null,
        enabled: 0,
        position: 0,
        name: 'kept',
        description: '',
        deleted: 0,
        settings: JSON.stringify(settings),
        error: '',
        created_at: time,
        updated_at: time,
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    const preview = (own: object) =>
      call('POST', '/import_preview/', { ...asked(), plugin: undefined, config_id, settings: own });
    const used = async () =>
      (await app.db.selectFrom('activity_log').select('activity').where('item_id', '=', String(config_id)).execute())
        .length;
    expect(await preview({ target_url: 'https://b.example' })).toMatchObject({
      status: 400,
      body: { attr: 'settings.target_api_key', detail: expect.stringContaining('"target_url" has a new address') },
    });
    expect(await used()).toBe(0);
    expect((await preview({ target_url: 'https://b.example', target_api_key: 'phc_own' })).status).toBe(200);
    expect(await used()).toBe(0);
    expect((await preview({})).status).toBe(200);
    expect(await used()).toBe(1);
  });
});
