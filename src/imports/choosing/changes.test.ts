import { describe, expect, it } from 'vitest';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { segmentRecords } from '../formats/segment/records.fixture.ts';
import { mixpanelRecords } from '../formats/mixpanel/records.fixture.ts';
import { findFormat } from '../formats/registry.ts';
import type { RecordReader } from '../formats/format.ts';
import type { ReaderMemory } from '../formats/reader-memory.ts';
import type { Join } from './join-table.ts';
import { createChosenReader } from './chosen-reader.ts';

const base = { uuid: '0190a000-0000-4000-8000-000000000001', distinct_id: 'u1', timestamp: '2024-03-01T00:00:00Z' };

/** Returns each record as its event. */
const identityReader = (): RecordReader => (record) => ({ kind: 'events', events: [record as WireEvent] });

function changed(properties: object, choice: ImportChoice, event = 'e'): unknown {
  const result = createChosenReader(identityReader, choice, { now: Date.now() })({ ...base, event, properties });
  return result.kind === 'events' ? result.events[0]?.properties : result;
}

describe('properties', () => {
  it.each<[string, ImportChoice['properties'], object, object]>([
    ['are renamed', { rename: { plan: 'tier' } }, { plan: 'pro', a: 1 }, { tier: 'pro', a: 1 }],
    [
      'are renamed on the person and the group too',
      { rename: { plan: 'tier' } },
      { $set: { plan: 'pro' }, $set_once: { plan: 'old' }, $group_set: { plan: 'x' } },
      { $set: { tier: 'pro' }, $set_once: { tier: 'old' }, $group_set: { tier: 'x' } },
    ],
    ['keep the old name if the new one is taken', { rename: { a: 'b' } }, { a: 1, b: 2 }, { a: 1, b: 2 }],
    [
      'with the same new name: one of the two keeps its old name',
      { rename: { a: 'c', b: 'c' } },
      { a: 1, b: 2 },
      { c: 1, b: 2 },
    ],
    ['may have any new name', { rename: { a: '__proto__' } }, { a: 1 }, JSON.parse('{"__proto__":1}') as object],
    [
      'get new values by the text of the old ones',
      { values: { plan: { '1': 'basic', true: 'yes' } } },
      { plan: 1, $set: { plan: true } },
      { plan: 'basic', $set: { plan: 'yes' } },
    ],
    ['keep values without an entry in the table', { values: { plan: { '1': 'basic' } } }, { plan: [1] }, { plan: [1] }],
    ['are removed by a new value of null', { values: { plan: { '': null } } }, { plan: '', a: 1 }, { a: 1 }],
    ['are translated after renaming', { rename: { p: 'q' }, values: { q: { x: 'y' } } }, { p: 'x' }, { q: 'y' }],
    [
      'only those of a list, plus structural properties and the marks of the import',
      { only: ['plan', 'utm_*'] },
      {
        plan: 1,
        utm_source: 'a',
        email: 'b',
        $set: { email: 'b', plan: 2 },
        $geoip_disable: true,
        $groups: { o: 'x' },
      },
      { plan: 1, utm_source: 'a', $set: { plan: 2 }, $geoip_disable: true, $groups: { o: 'x' } },
    ],
    [
      'all but those of a list, on the event and its person',
      { except: ['email'] },
      { email: 1, $set: { email: 2 }, a: 3 },
      { a: 3 },
    ],
    ['structural properties that a list names', { except: ['$set*'] }, { $set: { a: 1 }, b: 2 }, { b: 2 }],
    [
      'never the marks of the import',
      { except: ['*'] },
      { $geoip_disable: true, $import_source: 's', a: 1 },
      { $geoip_disable: true, $import_source: 's' },
    ],
  ])('%s', (_name, properties, before, after) => {
    const frozen = JSON.stringify(before);
    const choice: ImportChoice = properties === undefined ? {} : { properties };
    expect(JSON.stringify(changed(before, choice))).toBe(JSON.stringify(after));
    expect(JSON.stringify(before)).toBe(frozen);
  });

  it('browser and system are derived from the user agent, unless the source names them', () => {
    const header = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
    const choice: ImportChoice = { user_agent: true };
    expect(changed({ $useragent: header }, choice)).toEqual({
      $browser: 'firefox',
      $browser_version: '140.0.0',
      $os: 'Linux',
      $device: '',
      $device_type: 'Desktop',
      $browser_type: 'browser',
    });
    expect(changed({ $raw_user_agent: header, $browser: 'Own' }, choice)).toEqual({
      $raw_user_agent: header,
      $browser: 'Own',
    });
    expect(changed({ ua: header }, { ...choice, properties: { rename: { ua: '$useragent' }, only: ['$os'] } })).toEqual(
      {
        $os: 'Linux',
      },
    );
  });
});

const sources = [
  ['segment', () => segmentRecords(3, 500)],
  ['mixpanel', () => mixpanelRecords(3, 500)],
] as const;
const linkNames: ReadonlySet<string> = new Set(['$create_alias', '$merge_dangerously']);

function imported(slug: string, records: () => Iterable<unknown>, choice?: ImportChoice): readonly WireEvent[] {
  const format = findFormat(slug);
  if (format === undefined) throw new Error(`expected the format ${slug}`);
  const read = createChosenReader((memory) => format.createReader({}, format.names, memory), choice, {
    now: Date.now(),
  });
  return [...records()].flatMap((record) => {
    const result = read(record);
    return result.kind === 'events' ? result.events : [];
  });
}

const isLinkEvent = ({ event, properties }: WireEvent): boolean =>
  linkNames.has(event) || (event === '$identify' && properties['$anon_distinct_id'] !== undefined);

describe('a table that is joined', () => {
  const table = () => ({
    rows: new Map([['7', { plan: 'pro', name: 'A' }]]),
    column: 'id',
    repeated: 0,
    isMatched: false,
  });
  it.each<[string, Partial<Join>, object, object]>([
    ['by a property, as text', { on: 'org' }, { org: 7 }, { org: 7, plan: 'pro', name: 'A' }],
    [
      'keeps the event’s own properties',
      { on: 'org' },
      { org: '7', plan: 'own' },
      { org: '7', plan: 'own', name: 'A' },
    ],
    [
      'as properties of the person',
      { on: 'org', as: 'person' },
      { org: 7, $set: { name: 'B' } },
      { org: 7, $set: { name: 'B', plan: 'pro' } },
    ],
    ['no row', { on: 'org' }, { org: 8 }, { org: 8 }],
    ['no key', { on: 'org' }, { org: null }, { org: null }],
  ])('%s', (_name, how, before, after) => {
    const join = { table: 'orgs.csv', on: 'org', ...how };
    const read = createChosenReader(identityReader, { join: [join] }, { tables: [table()], now: Date.now() });
    const result = read({ ...base, event: 'e', properties: before });
    expect(result).toMatchObject({ events: [{ properties: after }] });
  });
});

const isDeviceLink = ({ event, properties }: WireEvent) =>
  event === '$identify' && properties['$anon_distinct_id'] !== undefined;

describe('the identity policy', () => {
  it.each(sources)('%s: never_merge links no ids and keeps everything else', (slug, records) => {
    const all = imported(slug, records);
    const apart = imported(slug, records, { identity: 'never_merge' });
    expect(all.some(isLinkEvent)).toBe(true);
    expect(apart.some(isLinkEvent)).toBe(false);
    const others = (events: readonly WireEvent[]) =>
      events.filter(({ event }) => event !== '$identify' && !linkNames.has(event));
    expect(others(apart)).toEqual(others(all));
    const merged = imported(slug, records, { identity: 'merge' });
    const isMarked = ({ properties }: WireEvent) => properties['$import_identity'] !== undefined;
    expect(merged.filter(isMarked)).toHaveLength(all.filter(isDeviceLink).length);
    expect(merged.map(({ uuid }) => uuid)).toEqual(all.map(({ uuid }) => uuid));
    expect(imported(slug, records, { identity: 'first_user' })).toEqual(all);
  });

  it('person properties of an $identify stay', () => {
    const properties = { $anon_distinct_id: 'a', $set: { plan: 1 }, $geoip_disable: true };
    const kept = { $set: { plan: 1 }, $geoip_disable: true };
    expect(changed(properties, { identity: 'never_merge' }, '$identify')).toEqual(kept);
    expect(changed({ $anon_distinct_id: 'a' }, { identity: 'never_merge' }, '$identify')).toMatchObject({
      kind: 'skipped',
      chosen: { read: 1, leftOut: ['link between ids, excluded by the identity policy'] },
    });
  });

  it('device_only: each event belongs to the device that its own record names', () => {
    const at = (id: number, user: string, visitor: string) => ({ id, name: 'e', user, visitor, at: '2024-03-01' });
    const rules = {
      event: 'name',
      distinct_id: { first: ['user', 'visitor'] },
      timestamp: 'at',
      anonymous_id: 'visitor',
    };
    const format = findFormat('mapping');
    if (format === undefined) throw new Error('expected the format mapping');
    const create = (memory: ReaderMemory) =>
      format.createReader({ mapping: JSON.stringify(rules) }, format.names, memory);
    const read = createChosenReader(create, { identity: 'device_only' }, { now: Date.now() });
    const rows = [at(1, 'u1', 'v1'), at(2, 'u1', 'v2'), at(3, 'u1', 'v1'), at(4, '', 'v3'), at(5, 'u2', '')];
    const events = rows.map((row) => read(row)).flatMap((result) => (result.kind === 'events' ? result.events : []));
    expect(events.map(({ event, distinct_id: id }) => `${event} ${id}`)).toEqual([
      'e v1',
      'e v2',
      'e v1',
      'e v3',
      'e u2',
    ]);
  });
});
