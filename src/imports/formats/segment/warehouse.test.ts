import { describe, expect, it } from 'vitest';
import { segment } from './segment.ts';
import { segmentRecords } from './records.fixture.ts';
import { eventFrom, eventsOf, readAll } from '../../../../test/support/format-check.ts';
import { asCsvRow, inCapitals, sqlTime, type Row } from '../../../../test/support/warehouse-rows.ts';

/** `context.page.url` as `context_page_url`. */
function flattened(value: Row, prefix: string): Row {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]): (readonly [string, unknown])[] => {
      const name = `${prefix}${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
      const isNested = typeof each === 'object' && each !== null && !Array.isArray(each);
      return isNested ? Object.entries(flattened(each as Row, `${name}_`)) : [[name, each]];
    }),
  );
}

/** A message as warehouses of Segment and RudderStack store it. */
function asRow(message: Row): Row {
  const { type, event, properties, traits, context, name, groupId, previousId } = message;
  const empty = type === 'page' ? { path: null, url: null } : {};
  return {
    ...empty,
    id: message['messageId'],
    anonymous_id: message['anonymousId'],
    user_id: message['userId'],
    timestamp: sqlTime(Date.parse(String(message['timestamp']))),
    original_timestamp: sqlTime(Date.parse(String(message['originalTimestamp']))),
    received_at: sqlTime(Date.parse(String(message['receivedAt']))),
    uuid_ts: sqlTime(0),
    ...(type === 'track' ? { event: String(event).toLowerCase().replaceAll(' ', '_'), event_text: event } : {}),
    ...(name === undefined ? {} : { name }),
    ...(groupId === undefined ? {} : { group_id: groupId }),
    ...(previousId === undefined ? {} : { previous_id: previousId }),
    ...flattened((properties ?? {}) as Row, ''),
    ...(type === 'identify' || type === 'group' ? flattened((traits ?? {}) as Row, '') : {}),
    ...flattened(context as Row, 'context_'),
  };
}

const archive = [...segmentRecords(5, 800)];
const ofType = (...types: readonly string[]) => archive.filter(({ type }) => types.includes(String(type)));
/** Empty texts count as missing in a warehouse. */
const events = (records: readonly unknown[], table = 'auto') =>
  eventsOf(readAll(segment, records, { table })).map(({ uuid, event, distinct_id, timestamp, properties }) => ({
    uuid,
    event,
    distinct_id,
    timestamp: new Date(timestamp).toISOString(),
    properties: Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== '')),
  }));

describe('rows of a warehouse of Segment and RudderStack', () => {
  it.each<[string, readonly Row[], string]>([
    ['tracks, pages, groups and aliases are distinguished', ofType('track', 'page', 'group', 'alias'), 'auto'],
    ['identifies are named', ofType('identify'), 'identifies'],
    ['screens are named', ofType('screen'), 'screens'],
  ])('%s: each row gives the event of its message, with the same id', (_name, messages, table) => {
    expect(messages.length).toBeGreaterThan(20);
    expect(events(messages.map(asRow), table)).toEqual(events(messages));
    const capital = events(messages.map(asRow).map(inCapitals), table);
    expect(capital.map(({ uuid }) => uuid)).toEqual(events(messages).map(({ uuid }) => uuid));
    const csv = events(messages.map(asRow).map(asCsvRow), table);
    expect(csv.map(({ uuid }) => uuid)).toEqual(events(messages).map(({ uuid }) => uuid));
  });

  it('a row of an unknown table is rejected with advice', () => {
    const [identify = {}] = ofType('identify');
    const [result] = readAll(segment, [asRow(identify)]);
    expect(result).toMatchObject({ kind: 'unreadable', reason: expect.stringContaining('format option table') });
  });

  it('the same message in tracks and in the table of its event is stored once', () => {
    const row = asRow(ofType('track')[0] ?? {});
    expect(readAll(segment, [row, row]).map(({ kind }) => kind)).toEqual(['events', 'skipped']);
  });

  it('reads a data lake of RudderStack: microseconds since 1970, _timestamp', () => {
    const { timestamp: _, ...row } = asRow(ofType('track')[0] ?? {});
    const lake = { ...row, _timestamp: 1_565_586_510_909_123, context_request_ip: '192.0.2.9', context_ip: null };
    expect(eventFrom(segment, lake)).toMatchObject({
      timestamp: '2019-08-12T05:08:30.909123Z',
      properties: { $ip: '192.0.2.9' },
    });
  });

  it('users get their latest traits, under their own id', () => {
    const row = { id: 'u7', received_at: '2021-01-01 00:00:00', email: 'a@b.example', context_ip: '192.0.2.9' };
    expect(eventFrom(segment, row, { table: 'users' })).toMatchObject({
      event: '$identify',
      distinct_id: 'u7',
      properties: { $set: { email: 'a@b.example' } },
    });
  });
});
