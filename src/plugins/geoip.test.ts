import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CityRecord } from './host.ts';
import { openGeoIp, type GeoIpOptions, type GeoIpSource } from './geoip.ts';
import { cityDatabase, writeCityDatabase, type CityNetwork } from '../../test/support/mmdb.ts';

const linkoping: CityRecord = {
  city: { names: { en: 'Linköping' }, geoname_id: 2_694_762, confidence: 80 },
  continent: { names: { en: 'Europe' }, code: 'EU' },
  country: { names: { en: 'Sweden' }, iso_code: 'SE' },
  postal: { code: '582 22' },
  location: { latitude: 58.4167, longitude: -15, accuracy_radius: 76, time_zone: 'Europe/Stockholm' },
  subdivisions: [{ names: { en: 'Östergötland County' }, iso_code: 'E' }],
};
const named = (en: string): CityRecord => ({ city: { names: { en } } });
const networks: CityNetwork[] = [
  { network: '89.160.20.112/28', record: linkoping },
  { network: '89.160.0.0/16', record: named('wide') },
  { network: '1.2.3.4/32', record: named('one') },
  { network: '2001:218::/32', record: named('six') },
  { network: '2001:218:8000::/33', record: named('x'.repeat(400)) },
];

let directory: string;
let path: string;
const warnings: string[] = [];
const opened: GeoIpSource[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millrace-geoip-'));
  path = join(directory, 'city.mmdb');
  warnings.length = 0;
});
afterEach(async () => {
  for (const source of opened.splice(0)) source.close();
  await rm(directory, { recursive: true });
});

function open(from = path, options: GeoIpOptions = {}): GeoIpSource {
  const source = openGeoIp(from, { warn: (_about, message) => warnings.push(message) }, options);
  opened.push(source);
  return source;
}

describe('the location of an address', () => {
  it.each([24, 28, 32] as const)('comes from the file, with pointers of %i bits', async (recordSize) => {
    await writeCityDatabase(path, networks, { recordSize });
    const { geoip, geoipProblem } = open();
    expect(geoipProblem).toBe('');
    expect(geoip?.locate('89.160.20.113')).toEqual(linkoping);
    expect(geoip?.locate('::ffff:89.160.20.113')).toEqual(linkoping);
    expect(geoip?.locate('89.160.20.128')?.city?.names?.en).toBe('wide');
    expect(geoip?.locate('1.2.3.4')?.city?.names?.en).toBe('one');
    expect(geoip?.locate('2001:218:1::1')?.city?.names?.en).toBe('six');
    expect(geoip?.locate('2001:218:9000::1')?.city?.names?.en).toHaveLength(400);
  });

  it.each([
    '1.2.3.5',
    '127.0.0.1',
    '::1',
    '2a00::1',
    '',
    'x',
    '1.2.3',
    '1.2.3.4.5',
    '::ffff:x',
    'fe80::1%eth0',
    '1.2.3.4 ',
  ])('%j is unknown', async (ip) => {
    await writeCityDatabase(path, networks);
    expect(open().geoip?.locate(ip)).toBeNull();
    expect(warnings).toEqual([]);
  });
});

describe('a missing database', () => {
  it('without a path the setting is named', () => {
    expect(open('')).toMatchObject({
      geoip: undefined,
      geoipProblem:
        'expected a GeoIP database, got none; set MILLRACE_GEOIP_DATABASE to the path of a MaxMind City database ' +
        '(.mmdb), for example GeoLite2-City.mmdb',
    });
  });

  it.each<[string, string | Buffer | undefined, RegExp]>([
    ['no file', undefined, /ENOENT/],
    ['an empty file', '', /got: /],
    ['another file', 'x'.repeat(1000), /got: /],
    ['a country database', cityDatabase(networks, { databaseType: 'GeoLite2-Country' }), /type GeoLite2-Country/],
  ])('%s: a sentence says so', async (_name, content, reason) => {
    if (content !== undefined) await writeFile(path, content);
    const { geoip, geoipProblem } = open();
    expect(geoip).toBeUndefined();
    expect(geoipProblem).toMatch(reason);
    expect(geoipProblem).toContain('MILLRACE_GEOIP_DATABASE');
    expect(warnings).toEqual([geoipProblem]);
  });
});

describe('a file that changes', () => {
  it('is read again, also for existing users', async () => {
    await writeCityDatabase(path, networks);
    let changes = 0;
    const source = open(path, { onChange: () => (changes += 1) });
    const { geoip } = source;
    await source.check();
    await writeCityDatabase(`${path}.new`, [{ network: '1.2.3.4/32', record: named('moved') }]);
    await rename(`${path}.new`, path);
    await source.check();
    expect(geoip?.locate('1.2.3.4')?.city?.names?.en).toBe('moved');
    expect(source.geoip).toBe(geoip);
    expect(changes).toBe(1);
  });

  it('a damaged one does not replace a good one; the next good one does', async () => {
    await writeCityDatabase(path, networks);
    const source = open();
    await writeFile(path, 'half of it');
    await source.check();
    await source.check();
    expect(source.geoip?.locate('1.2.3.4')?.city?.names?.en).toBe('one');
    expect(source.geoipProblem).toBe('');
    expect(warnings).toHaveLength(1);
    await writeCityDatabase(path, [{ network: '1.2.3.4/32', record: named('new') }]);
    await source.check();
    expect(source.geoip?.locate('1.2.3.4')?.city?.names?.en).toBe('new');
  });

  it('one that appears later is found automatically', async () => {
    const found = Promise.withResolvers<void>();
    const source = open(path, { checkMs: 20, onChange: () => found.resolve() });
    expect(source.geoip).toBeUndefined();
    await writeCityDatabase(`${path}.new`, networks);
    await rename(`${path}.new`, path);
    await found.promise;
    expect([source.geoipProblem, source.geoip?.locate('1.2.3.4')?.city?.names?.en]).toEqual(['', 'one']);
  });

  it('a truncated file returns no location instead of an error', async () => {
    const whole = cityDatabase(networks);
    const damaged = Buffer.from(whole);
    // Replaces every control byte of the data by an invalid one.
    damaged.fill(
      0xff,
      whole.indexOf(Buffer.alloc(16)) + 16,
      whole.lastIndexOf(Buffer.from('\u00ab\u00cd\u00ef', 'latin1')),
    );
    await writeFile(path, damaged);
    const { geoip } = open();
    expect([geoip?.locate('1.2.3.4'), geoip?.locate('1.2.3.4')]).toEqual([null, null]);
    expect(warnings).toEqual([`the GeoIP database ${path} is damaged; download it again`]);
  });
});
