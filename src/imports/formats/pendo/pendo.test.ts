import { describe, expect, it } from 'vitest';
import { pendo } from './pendo.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { pendoRecords } from './records.fixture.ts';

const row = { visitorId: 'v1', eventType: 'load', eventId: 'e1', browserTimestamp: 1_714_558_830_123 };

describe('rows of Pendo', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(pendo)).toEqual(pendo.example.events);
  });

  it.each([
    ['load', '$pageview', undefined],
    ['click', '$autocapture', 'click'],
    ['change', '$autocapture', 'change'],
    ['focus', '$autocapture', 'focus'],
    ['pollResponse', 'survey sent', undefined],
    ['guideSeen', 'guideSeen', undefined],
  ])('%s becomes %s', (eventType, event, type) => {
    const found = eventFrom(pendo, { ...row, eventType });
    expect([found.event, found.properties['$event_type']]).toEqual([event, type]);
  });

  it('columns are mapped, JSON texts are parsed, unknown columns are kept', () => {
    const { properties } = eventFrom(pendo, {
      ...row,
      eventType: 'pollResponse',
      pollId: 'p1',
      pollResponse: 0,
      userAgent: 'x',
      elementPath: 'BODY > A',
      matchableId: 'Page/1',
      propertiesJson: '{"k":[1],"__proto__":2}',
    });
    expect(Object.getOwnPropertyDescriptor(properties, '__proto__')?.value).toBe(2);
    expect({ ...properties }).toMatchObject({
      $survey_id: 'p1',
      $survey_response: 0,
      $useragent: 'x',
      elementPath: 'BODY > A',
      matchableId: 'Page/1',
      k: [1],
    });
    const broken = eventFrom(pendo, { ...row, propertiesJson: '{broken' });
    expect(broken.properties).toMatchObject({ propertiesJson: '{broken' });
  });

  it('an account is a group whose type can be chosen', () => {
    expect(eventFrom(pendo, { ...row, accountId: 'a' }).properties).toMatchObject({ $groups: { account: 'a' } });
    const { properties } = eventFrom(pendo, { ...row, accountId: 'a' }, { group_type: 'company' });
    expect(properties).toMatchObject({ $groups: { company: 'a' } });
    expect(eventFrom(pendo, { ...row, accountId: 'none' }).properties).not.toHaveProperty('$groups');
  });

  it('an anonymous visitor is linked to its later id once', () => {
    const known = { ...row, oldVisitorId: '_PENDO_T_1' };
    expect(eventsFrom(pendo, known)[0]).toMatchObject({
      event: '$identify',
      distinct_id: 'v1',
      properties: { $anon_distinct_id: '_PENDO_T_1' },
    });
    const [, second] = readAll(pendo, [known, { ...known, eventId: 'e2' }]);
    expect(second).toMatchObject({ kind: 'events', events: [{ event: '$pageview' }] });
  });

  it('the uuid is eventId if it is a UUID; events that share an id stay separate', () => {
    const eventId = 'AAAAAAAA-0000-4000-8000-000000000001';
    expect(eventFrom(pendo, { ...row, eventId }).uuid).toBe(eventId.toLowerCase());
    const rows = [row, { ...row, eventType: 'click' }, { ...row, visitorId: 'v2' }, { ...row, eventId: null }];
    const results = checkRecords(pendo, [...rows, { ...row, eventId: null }]);
    expect(results.map(({ kind }) => kind)).toEqual(Array(5).fill('events'));
    expect(eventFrom(pendo, { ...row, browser: 'late' }).uuid).toBe(eventFrom(pendo, row).uuid);
  });

  it.each([
    [{ eventType: '' }, 'expected eventType, got an empty text'],
    [{ browserTimestamp: 1_714_558_830 }, 'expected browserTimestamp in milliseconds since 1970, got a number'],
    [{ visitorId: 'undefined' }, 'expected an id other than a placeholder in visitorId, got a text'],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(pendo, [{ ...row, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([1, 2])('generated rows (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(pendo, [...pendoRecords(seed, 2000)]);
    expect(results.filter((result) => result.kind !== 'events')).toEqual([]);
  });

  it('anything but a row is rejected as unreadable, without an exception', () => {
    const [record = {}] = pendoRecords(3, 1);
    expect(new Set(readHostile(pendo, record))).toEqual(new Set(['unreadable']));
  });
});
