import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SourceError, SourceWaitError, type Source } from '../source.ts';
import { makeZip } from '../../../test/support/archives.ts';
import { withDefaults } from '../../plugins/check-settings.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { amplitude } from './amplitude.ts';
import {
  startExportServer,
  type Answer,
  type ExportRequestOf,
  type ExportServer,
} from '../../../test/support/export-server.ts';
import { readPart, readSource, readStubbornly, testSourceHost } from './source-host.fixture.ts';
import { seededRandom } from '../../../test/support/draw.ts';

const range = { from: '2024-03-01T22:00:00.000Z', to: '2024-03-03T02:00:00.000Z' };
const secret = 'amplitude-secret';
/** By hour of arrival; most hours have none. */
const hours = new Map<string, readonly string[]>(
  ['20240301T21', '20240301T22', '20240302T00', '20240302T13', '20240302T23', '20240303T01', '20240303T02'].map(
    (hour, place) => [hour, Array.from({ length: 20 + place }, (_, index) => lineOf(`${hour}-${index}`))],
  ),
);
const expected = [...hours]
  .filter(([hour]) => hour >= '20240301T22' && hour < '20240303T02')
  .flatMap(([, lines]) => lines)
  .toSorted();

let tempDir: string;
beforeEach(async () => {
  tempDir = await mkdtemp(join(tmpdir(), 'millrace-amplitude-'));
});
afterEach(async () => {
  await rm(tempDir, { recursive: true });
});

function lineOf(id: string): string {
  return JSON.stringify({ uuid: id, event_type: 'view', event_time: '2024-02-01 10:00:00.000000', user_id: 'ü' });
}

/** A zip of gzip files, several for an hour, in a different order at each call. */
function exportApi(random = seededRandom(1)) {
  return ({ path, query }: ExportRequestOf): Answer => {
    if (path !== '/api/2/export')
      return { status: 404, body: '<html>no</html>', headers: { 'content-type': 'text/html' } };
    const [start, end] = [query.get('start') ?? '', query.get('end') ?? ''];
    const found = [...hours].filter(([hour]) => hour >= start && hour <= end);
    if (found.length === 0) return { status: 404, body: 'Raw data files were not found.' };
    const files = found.flatMap(([hour, lines]) => {
      const cut = Math.floor(random() * lines.length);
      return [lines.slice(cut), lines.slice(0, cut)].map((some, number) => ({
        path: `187520/187520_${hour}#${number}.json.gz`,
        content: gzipSync(some.map((line) => `${line}\n`).join('')),
      }));
    });
    return { bytes: makeZip(files), contentType: 'application/zip' };
  };
}

function sourceOf({ url }: Pick<ExportServer, 'url'>, settings: SettingValues = {}): Source {
  const own = { ...amplitude.example, secret_key: secret, base_url: url, ...settings };
  return amplitude.createSource(withDefaults(amplitude.fields, own), testSourceHost({ tempDir }));
}

function everything(found: ReadonlyMap<string, readonly string[]>): string[] {
  return [...found.values()].flat().toSorted();
}

function spansOf(server: ExportServer): string[] {
  return server.asked.map(({ query }) => `${query.get('start')} ${query.get('end')}`);
}

describe('the export of Amplitude', () => {
  it('every record of the requested hours is read once, by day; nothing remains on disk', async () => {
    await using server = await startExportServer(exportApi());
    const found = await readSource(sourceOf(server), range);
    expect([...found.keys()]).toEqual(['2024-03-01T22:00Z..2024-03-02', '2024-03-02', '2024-03-03..2024-03-03T02:00Z']);
    expect(everything(found)).toEqual(expected);
    expect(spansOf(server)).toEqual(['20240301T22 20240301T23', '20240302T00 20240302T23', '20240303T00 20240303T01']);
    expect(server.asked[0]?.authorization).toBe(`Basic ${Buffer.from(`key:${secret}`).toString('base64')}`);
    expect(await readdir(tempDir)).toEqual([]);
  });

  it('hours without data are empty, not missing', async () => {
    await using server = await startExportServer(exportApi());
    const empty = { from: '2024-04-01T00:00:00.000Z', to: '2024-04-02T00:00:00.000Z' };
    expect([...(await readSource(sourceOf(server), empty))]).toEqual([['2024-04-01', []]]);
  });

  it.each([
    [400, 'The export is too large, choose a smaller range'],
    [504, 'Gateway timeout'],
  ])('a day that is rejected with %i is fetched by the hour', async (status, body) => {
    const api = exportApi();
    await using server = await startExportServer((request) =>
      request.query.get('start') === request.query.get('end') ? api(request) : { status, body },
    );
    expect(everything(await readSource(sourceOf(server), range))).toEqual(expected);
    expect(server.asked.length).toBe(3 + 2 + 24 + 2);
  });

  it('an hour that is too large ends the run with advice', async () => {
    await using server = await startExportServer(() => ({ status: 400, body: 'Exceeds the maximum size' }));
    await expect(readSource(sourceOf(server), range)).rejects.toThrow(/hour .* too large .* bucket/);
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
      await using server = await startExportServer(exportApi());
      server.trouble[kind] = 1;
      const source = sourceOf(server);
      const [part] = await source.listParts(range, { signal: new AbortController().signal });
      if (part === undefined) throw new Error('expected a part');
      const error = await readPart(source, part).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SourceWaitError);
      expect(error).toMatchObject({ unlimited });
      server.trouble[kind] = 3;
      expect(everything(await readStubbornly(sourceOf(server), range))).toEqual(expected);
      expect(await readdir(tempDir)).toEqual([]);
    },
  );

  it.each([
    [{ status: 401, body: `wrong: ${secret}` }, /responded 401: wrong: \*\*\*; check the credentials/],
    [{ status: 400, body: 'Bad date' }, /responded 400: Bad date/],
    [{ status: 404, body: '<p>', headers: { 'content-type': 'text/html' } }, /responded 404; check the address/],
  ])('%j ends the run', async (answer, message) => {
    await using server = await startExportServer(() => answer);
    const error = await readSource(sourceOf(server), range).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SourceError);
    expect(String(error)).toMatch(message);
  });

  it('an empty response is not taken for an empty day', async () => {
    await using server = await startExportServer(() => ({ status: 200, body: '' }));
    await expect(readSource(sourceOf(server), range)).rejects.toMatchObject({
      name: 'SourceWaitError',
      unlimited: false,
    });
  });

  it('without an end, the range ends at the last complete midnight', async () => {
    const host = testSourceHost({ now: () => Date.parse('2024-03-04T02:30:00Z') });
    const source = amplitude.createSource(withDefaults(amplitude.fields, amplitude.example), host);
    const parts = await source.listParts(
      { from: '2024-03-01T00:00:00.000Z' },
      { signal: new AbortController().signal },
    );
    expect(parts.map(({ key }) => key)).toEqual(['2024-03-01', '2024-03-02']);
  });
});

describe('settings of Amplitude', () => {
  it.each([
    [{ secret_key: '' }, 'secret_key'],
    [{ region: 'mars' }, 'region'],
    [{ base_url: 'nowhere' }, 'base_url'],
  ])('%j are rejected', (settings, key) => {
    expect(() => sourceOf({ url: '' }, settings)).toThrow(SettingsError);
    expect(() => sourceOf({ url: '' }, settings)).toThrow(`"${key}"`);
  });
});
