import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inFolder } from '../../../test/support/guide-import.ts';
import { identityOf } from './choose-import.ts';
import { countOf, pairsOf, shareOf, timeOf } from '../read-arguments.ts';
import { requestOf, type RequestOptions } from './request.ts';

const given: RequestOptions = { source: 'files', to: 'http://127.0.0.1:9/', projectKey: 'phc_secret' };
const request = (more: Partial<RequestOptions> = {}, paths: readonly string[] = ['a.ndjson'], format = 'mixpanel') =>
  requestOf(format, paths, { ...given, ...more }, '/data');

describe('the command line of an import', () => {
  it('becomes the options of a run', () => {
    const made = request({
      fromDate: '2024-01-01',
      toDate: '2024-02-01T12:30',
      trial: true,
      rejectedMax: '1%',
      speed: '50',
    });
    expect(made).toMatchObject({ source: 'files', paths: ['/data/a.ndjson'], projectKey: 'phc_secret' });
    expect(made.options).toEqual({
      range: { from: '2024-01-01T00:00:00.000Z', to: '2024-02-01T12:30:00.000Z' },
      format: 'mixpanel',
      formatOptions: {},
      last: 'report',
      limit: 1000,
      rejectedMax: 0.01,
      preflight: false,
      eventsPerSecond: 50,
      target: { kind: 'http', url: 'http://127.0.0.1:9' },
    });
  });

  it('addresses are unchanged', () => {
    expect(request({}, ['s3://b/p', 'https://x/a.gz', '../b']).paths).toEqual(['s3://b/p', 'https://x/a.gz', '/b']);
  });

  it('an unquoted path with spaces is reported as a whole', () =>
    inFolder(async (folder) => {
      await writeFile(join(folder, 'my old export.ndjson'), '');
      const asked = (...paths: readonly string[]) => requestOf('mixpanel', paths, given, folder).paths;
      expect(() => asked('my', 'old', 'export.ndjson')).toThrow(
        "my does not exist; quote a path with spaces: 'my old export.ndjson'",
      );
      expect(asked('my old export.ndjson')).toEqual([join(folder, 'my old export.ndjson')]);
      expect(asked('my', 'other.ndjson')).toHaveLength(2);
    }));

  it.each<[string, Partial<RequestOptions>, readonly string[], string]>([
    ['no paths', {}, [], 'expected files, directories or addresses'],
    ['paths beside another source', { source: 'mixpanel' }, ['a'], 'expected no paths with --source mixpanel'],
    ['no key', { projectKey: '' }, ['a'], 'expected --project-key'],
    [
      'an end before the beginning',
      { fromDate: '2024-02-01', toDate: '2024-01-01' },
      ['a'],
      '--to-date: expected a time after',
    ],
    ['an unknown option of the format', { formatOption: ['zone=UTC'] }, ['a'], 'got zone'],
    ['names that are not there', { names: 'missing.json' }, ['a'], 'cannot read missing.json'],
    ['a key in the address', { to: 'http://me:pw@127.0.0.1' }, ['a'], 'without user and password'],
    ['an option in place of a key', { projectKey: '--api-key' }, ['a'], 'got the option --api-key'],
    ['a key that a printed command hides', { projectKey: 'phc_…' }, ['a'], 'replace it with the key'],
    ['no limit', { limit: '0' }, ['a'], '--limit: expected a whole number of at least 1'],
  ])('%s is refused', (_name, more, paths, message) => {
    expect(() => request(more, paths)).toThrow(message);
    expect(() => request(more, paths)).toThrow(expect.objectContaining({ reason: 'usage' }));
  });

  it('an unknown format is refused with the known ones', () => {
    const refused = /expected a format: .*amplitude, .*got: mixpannel/;
    expect(() => request({}, ['a'], 'mixpannel')).toThrow(refused);
    // Before a key is asked for.
    expect(() => request({ projectKey: '' }, ['a'], 'mixpannel')).toThrow(refused);
  });

  it('a check needs no key', () => {
    expect(request({ projectKey: '', check: true }).options.last).toBe('check');
  });

  it.each(['1%', '0.01', '1 %', '0', '100%', '0.5%'])('%s is a share', (text) => {
    expect(shareOf('--x', text)).toBe(text.includes('%') ? Number.parseFloat(text) / 100 : Number(text));
  });

  it.each(['1', '101%', '-1%', '1.5', 'x', ''])('%j is not a share', (text) => {
    expect(() => shareOf('--x', text)).toThrow('--x: expected a share such as 1% or 0.01');
  });

  it.each([
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2024-02-29T10:00', '2024-02-29T10:00:00.000Z'],
    ['2024-02-29T10:00:00.5+02:00', '2024-02-29T08:00:00.500Z'],
  ])('%s is a time', (text, expected) => {
    expect(timeOf('--x', text)).toBe(expected);
  });

  it.each(['2024-02-30', '2023-02-29', '2024', 'yesterday', '2024-01-01T25:00', '01/02/2024'])(
    '%s is not a time',
    (text) => {
      expect(() => timeOf('--x', text)).toThrow('--x: expected a day');
    },
  );

  it('a misplaced value is not repeated: it may be a secret', () => {
    expect(() => pairsOf('--setting', ['sk_live_123'])).toThrow('--setting: expected key=value, got 11 characters');
    expect(() => pairsOf('--setting', ['a=1', 'a=2'])).toThrow('expected a once');
    expect(pairsOf('--setting', ['a=b=c', 'd='])).toEqual({ a: 'b=c', d: '' });
    expect(() => countOf('--x', '1.5', 0)).toThrow('whole number');
  });
});

describe('the same import', () => {
  it('is identified by source and target; speed and last stage do not matter', () => {
    const one = identityOf(request());
    expect(one).toMatch(/^[0-9a-f]{16}$/);
    for (const more of [{}, { speed: '10' }, { rejectedMax: '5%' }, { check: true }, { apiKey: 'phx_1' }]) {
      expect(identityOf(request(more))).toBe(one);
    }
  });

  it('another source, format, range, target or key is another import', () => {
    const others = [
      request({}, ['b.ndjson']),
      request({}, ['a.ndjson'], 'amplitude'),
      request({ formatOption: ['time_zone=Europe/Berlin'] }),
      request({ fromDate: '2024-01-01' }),
      request({ limit: '5' }),
      request({ to: 'http://127.0.0.1:10' }),
      request({ projectKey: 'phc_other' }),
      request({ setting: ['a=b'] }),
    ].map(identityOf);
    expect(new Set([identityOf(request()), ...others]).size).toBe(9);
  });
});
