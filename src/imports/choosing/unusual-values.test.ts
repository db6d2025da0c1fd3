import { describe, expect, it } from 'vitest';
import type { ImportChoice } from '../../wire/contract/import-choice.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { amplitude } from '../formats/amplitude/amplitude.ts';
import { FormatOptionsError, type RecordReader, type RecordResult } from '../formats/format.ts';
import { heap } from '../formats/heap/heap.ts';
import { mixpanel } from '../formats/mixpanel/mixpanel.ts';
import { createChosenReader } from './chosen-reader.ts';

const now = Date.UTC(2025, 0, 1);
const base: WireEvent = {
  uuid: '0190a000-0000-4000-8000-000000000001',
  event: 'e',
  distinct_id: 'u1',
  timestamp: '2024-03-01T00:00:00Z',
  properties: {},
};

/** Returns each record as its event. */
const identityReader = (): RecordReader => (record) => ({ kind: 'events', events: [record as WireEvent] });

function ruled(event: Partial<WireEvent>, choice: ImportChoice): RecordResult {
  return createChosenReader(identityReader, choice, { now })({ ...base, ...event });
}

function eventOf(result: RecordResult): WireEvent | undefined {
  return result.kind === 'events' ? result.events[0] : undefined;
}

describe('padded ids', () => {
  const padded = {
    distinct_id: ' ann\u00a0',
    properties: { $groups: { org: 'acme ', size: 3 }, $device_id: '\td1', alias: ' mine', n: ' 1 ' },
  };

  it('are trimmed wherever an event names a person, a device or a group, and nowhere else', () => {
    const result = ruled(padded, { padded_ids: 'trim' });
    expect(eventOf(result)).toEqual({
      ...base,
      distinct_id: 'ann',
      properties: { $groups: { org: 'acme', size: 3 }, $device_id: 'd1', alias: ' mine', n: ' 1 ' },
    });
    expect(result.unusual).toEqual([{ of: 'padded_ids', value: ' ann\u00a0' }]);
  });

  it('are trimmed in links and group events', () => {
    const alias = ruled({ event: '$create_alias', properties: { alias: 'v1 ' } }, { padded_ids: 'trim' });
    expect(eventOf(alias)?.properties).toEqual({ alias: 'v1' });
    const group = { event: '$groupidentify', properties: { $group_type: 'org', $group_key: ' acme' } };
    expect(eventOf(ruled(group, { padded_ids: 'trim' }))?.properties['$group_key']).toBe('acme');
  });

  it('a link between two spellings of one id is dropped, and its person properties stay', () => {
    const link = { event: '$identify', distinct_id: 'ann ', properties: { $anon_distinct_id: 'ann' } };
    expect(ruled(link, { padded_ids: 'trim' })).toMatchObject({
      kind: 'skipped',
      chosen: { read: 1, leftOut: ['link between two spellings of one id that differ in white space'] },
    });
    const telling = { ...link, properties: { $anon_distinct_id: 'ann', $set: { plan: 'pro' } } };
    expect(eventOf(ruled(telling, { padded_ids: 'trim' }))?.properties).toEqual({ $set: { plan: 'pro' } });
  });

  it('are kept without a rule and with the rule "keep"', () => {
    expect(eventOf(ruled(padded, { padded_ids: 'keep' }))?.distinct_id).toBe(padded.distinct_id);
  });

  it('a sample keeps both spellings of a trimmed id, or neither', () => {
    const ids = Array.from({ length: 40 }, (_, index) => `u${index}`);
    const taken = (id: string): boolean =>
      ruled({ distinct_id: id }, { padded_ids: 'trim', sample: 0.5 }).kind === 'events';
    expect(ids.map((id) => taken(` ${id}`))).toEqual(ids.map(taken));
    expect(new Set(ids.map(taken)).size).toBe(2);
  });

  it('the device that identifies a user is trimmed as well', () => {
    const event = { distinct_id: 'ann', properties: { $device_id: ' d1' } };
    expect(eventOf(ruled(event, { padded_ids: 'trim', identity: 'device_only' }))?.distinct_id).toBe('d1');
  });
});

describe('long ids and names', () => {
  const long = 'ä'.repeat(250);

  it('shortened ids have 200 characters, and different ids stay different', () => {
    const ids = [long, `${long}b`, `${long}c`].map(
      (id) => eventOf(ruled({ distinct_id: id }, { long_ids: 'shorten' }))?.distinct_id ?? '',
    );
    expect(ids.map((id) => [...id].length)).toEqual([200, 200, 200]);
    expect(new Set(ids).size).toBe(3);
    const again = ruled({ event: '$identify', properties: { $anon_distinct_id: long } }, { long_ids: 'shorten' });
    expect(eventOf(again)?.properties['$anon_distinct_id']).toBe(ids[0]);
  });

  it('code points count, not UTF-16 units: 200 characters of two units each are not too long', () => {
    expect(ruled({ distinct_id: '😀'.repeat(200) }, { long_ids: 'reject' }).kind).toBe('events');
    expect(ruled({ distinct_id: '😀'.repeat(201) }, { long_ids: 'reject' }).kind).toBe('unreadable');
    const short = eventOf(ruled({ distinct_id: '😀'.repeat(300) }, { long_ids: 'shorten' }))?.distinct_id ?? '';
    expect([[...short].length, short.isWellFormed()]).toEqual([200, true]);
  });

  it('event names are shortened before the lists apply', () => {
    const [result, other] = [`${long}x`, `${long}y`].map((event) => ruled({ event }, { long_names: 'shorten' }));
    const name = eventOf(result ?? ruled({}, {}))?.event ?? '';
    expect([...name].length).toBe(200);
    expect(name).not.toBe(eventOf(other ?? ruled({}, {}))?.event);
    const listed = ruled({ event: `${long}x` }, { long_names: 'shorten', events: { only: [name] } });
    expect(listed.kind).toBe('events');
  });

  it('property names are shortened on the event, the person and the group', () => {
    const properties = { [long]: 1, a: 2, $set: { [long]: 3 }, $group_set: { [`${long}b`]: 4 } };
    const found = eventOf(ruled({ properties }, { long_properties: 'shorten' }))?.properties ?? {};
    const bags = [found, found['$set'], found['$group_set']] as readonly object[];
    expect(bags.flatMap((bag) => Object.keys(bag)).filter((name) => name.length > 200)).toEqual([]);
    expect(Object.values(bags[1] ?? {})).toEqual([3]);
    expect(ruled({ properties }, { long_properties: 'reject' }).kind).toBe('unreadable');
  });
});

function readerOf(format: typeof mixpanel, choice: ImportChoice): RecordReader {
  return createChosenReader((memory) => format.createReader({}, format.names, memory), choice, {
    times: format.times,
    now,
  });
}

function mixpanelRecord(time: unknown, more: object = {}): object {
  return {
    event: 'e',
    properties: { time, distinct_id: 'u', $user_id: 'u', $device_id: 'd', $insert_id: 'i', ...more },
  };
}

function timesOf(result: RecordResult): readonly string[] {
  return result.kind === 'events' ? result.events.map(({ timestamp }) => timestamp) : [result.kind];
}

describe('unusual times', () => {
  it('received: the time of receipt replaces a time that is too early, too late or missing, and no other', () => {
    const read = readerOf(mixpanel, { odd_times: 'received' });
    const received = { mp_processing_time_ms: Date.UTC(2024, 1, 1) };
    const records = [86_400, 4_000_000_000, 'soon', 1_704_067_200].map((time, index) =>
      mixpanelRecord(time, { ...received, $insert_id: `i${index}`, $device_id: 'u' }),
    );
    expect(records.map((record) => timesOf(read(record)))).toEqual([
      ['2024-02-01T00:00:00.000Z'],
      ['2024-02-01T00:00:00.000Z'],
      ['2024-02-01T00:00:00.000Z'],
      ['2024-01-01T00:00:00.000Z'],
    ]);
    expect(read(mixpanelRecord('9999-12-31T00:00:00Z', received)).unusual).toEqual([
      { of: 'odd_times', value: '9999-12-31T00:00:00Z' },
    ]);
  });

  it('received: without a plausible time of receipt, the record is read as without the rule', () => {
    const read = readerOf(amplitude, { odd_times: 'received' });
    const plain = amplitude.createReader({}, amplitude.names);
    const records = [
      { event_type: 'e', user_id: 'u', uuid: base.uuid, event_time: '1970-01-02 00:00:00' },
      {
        event_type: 'e',
        user_id: 'u',
        uuid: base.uuid,
        event_time: '1970-01-02 00:00:00',
        server_received_time: '1971-01-01 00:00:00',
      },
    ];
    for (const record of records) expect(timesOf(read(record))).toEqual(timesOf(plain(record)));
  });

  it('guess: an unambiguous text is read in the zone of the format, any other stays unreadable', () => {
    const read = createChosenReader(
      (memory) => mixpanel.createReader({ time_zone: 'Europe/Berlin' }, mixpanel.names, memory),
      { odd_times: 'guess' },
      { times: mixpanel.times, now },
    );
    expect(timesOf(read(mixpanelRecord('March 4, 2024 5:06 PM', { $device_id: 'u' })))).toEqual([
      '2024-03-04T16:06:00.000Z',
    ]);
    expect(read(mixpanelRecord('03/04/2024')).kind).toBe('unreadable');
  });

  it('reject: a rejected record leaves no memory, so the link it would have created comes with the next one', () => {
    const read = readerOf(mixpanel, { odd_times: 'reject' });
    const rejected = read(mixpanelRecord(86_400));
    expect(rejected).toMatchObject({ kind: 'unreadable', unusual: [{ of: 'odd_times' }] });
    const good = read(mixpanelRecord(1_704_067_200));
    expect(good.kind === 'events' && good.events.map(({ event }) => event)).toEqual(['$identify', 'e']);
  });

  it('a rule that needs a time which the format does not have is refused, with the reason', () => {
    expect(() => readerOf(heap, { odd_times: 'received' })).toThrow(FormatOptionsError);
    expect(() => readerOf(heap, { odd_times: 'received' })).toThrow('when the source received an event');
  });
});
