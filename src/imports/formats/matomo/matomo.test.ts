import { describe, expect, it } from 'vitest';
import type { RecordResult } from '../format.ts';
import { matomo } from './matomo.ts';
import {
  checkRecords,
  eventFrom,
  eventsFrom,
  eventsOfExample,
  readAll,
  readHostile,
} from '../../../../test/support/format-check.ts';
import { matomoRecords } from './records.fixture.ts';

const action = { type: 'action', url: 'https://a.example/x', pageId: '1', timestamp: 1_714_558_830 };
const visit = { idSite: '1', idVisit: '8', visitorId: 'v1', actionDetails: [action] };
const timesIn = (result: RecordResult | undefined): unknown =>
  result?.kind === 'events' && result.events.map(({ timestamp }) => timestamp);
const of = (...actionDetails: readonly unknown[]): Record<string, unknown> => ({ ...visit, actionDetails });

describe('visits of Matomo', () => {
  it('converts the example of the format as documented', () => {
    expect(eventsOfExample(matomo)).toEqual(matomo.example.events);
  });

  it.each([
    [{}, '$pageview'],
    [{ type: 'event', eventAction: 'play' }, 'play'],
    [{ type: 'event', eventAction: 'goal' }, 'goal'],
    [{ type: 'event', eventName: 'film' }, 'film'],
    [{ type: 'search' }, 'search'],
    [{ type: 'outlink' }, 'outlink'],
    [{ type: 'ecommerceOrder', orderId: 'o1' }, 'ecommerceOrder'],
    [{ type: 13 }, 'content interaction'],
  ])('%j becomes %s', (change, event) => {
    expect(eventFrom(matomo, of({ ...action, ...change })).event).toBe(event);
  });

  it('a goal repeats the action that reached it and is skipped; the rest of the visit stays', () => {
    const goal = { type: 'goal', goalId: 1, timestamp: action.timestamp };
    expect(eventsFrom(matomo, of(action, goal))).toHaveLength(1);
    expect(readAll(matomo, [of(goal)])).toEqual([
      { kind: 'skipped', reason: 'the name table skips events called goal' },
    ]);
    expect(readAll(matomo, [of()])).toEqual([{ kind: 'skipped', reason: 'a visit without actions' }]);
  });

  it('every action has the properties of the visit; columns that only serve its display are dropped', () => {
    const [first, second] = eventsFrom(matomo, {
      ...of({ ...action, timeSpent: '9', timeSpentPretty: '9s' }, { ...action, pageId: '2', eventValue: '1.5' }),
      browserName: 'Firefox',
      browserIcon: 'x.png',
      resolution: '1920x1080',
      country: 'Germany',
      countryCode: 'de',
      visitDuration: '77',
      dimension1: 'pro',
      pluginsIcons: [{ pluginName: 'pdf' }],
      customVariables: { 1: { customVariableName1: 'plan', customVariableValue1: 'pro' } },
    });
    const known = {
      $browser: 'Firefox',
      $screen_width: 1920,
      $screen_height: 1080,
      $geoip_country_name: 'Germany',
      $geoip_country_code: 'DE',
      visitDuration: 77,
      dimension1: 'pro',
      plan: 'pro',
    };
    expect(first?.properties).toMatchObject({ ...known, timeSpent: 9, $host: 'a.example' });
    expect(second?.properties).toMatchObject({ ...known, eventValue: 1.5 });
    const all = Object.keys(first?.properties ?? {});
    expect(all.filter((name) => /Icon|Pretty|resolution|customVariables/.test(name))).toEqual([]);
  });

  it('variables that are not pairs of name and value are kept unchanged', () => {
    const variables = { 1: { other: 1 } };
    expect(eventFrom(matomo, { ...visit, customVariables: variables }).properties).toMatchObject({
      customVariables: variables,
    });
  });

  it('a user is identified by userId and linked to the visitor once', () => {
    const events = eventsFrom(matomo, { ...of(action, { ...action, pageId: '2' }), userId: 'u1' });
    expect(events.map((event) => [event.event, event.distinct_id])).toEqual([
      ['$identify', 'u1'],
      ['$pageview', 'u1'],
      ['$pageview', 'u1'],
    ]);
  });

  it('the time of an action is UTC, although its timestamp is local time of the site', () => {
    const at = (iso: string): number => Date.parse(`2024-07-01T${iso}Z`) / 1000;
    const visitTimes = { firstActionTimestamp: at('10:00:00'), lastActionTimestamp: at('10:00:10') };
    const details = [
      { ...action, timestamp: at('12:00:00') },
      { ...action, type: 'event', eventAction: 'clicked', pageId: '2', timestamp: String(at('12:00:10')) },
    ];
    const [result] = readAll(matomo, [{ ...of(...details), ...visitTimes }]);
    expect(timesIn(result)).toEqual(['2024-07-01T10:00:00.000Z', '2024-07-01T10:00:10.000Z']);
    expect(result?.notes).toEqual([{ of: 'matomo_clock_derived', sample: 'UTC+02:00' }]);
  });

  it.each([
    ['west of UTC', -5 * 3600, 'UTC-05:00'],
    ['half an hour off', 5.5 * 3600, 'UTC+05:30'],
    ['a quarter of an hour off', 12.75 * 3600, 'UTC+12:45'],
  ])('a site %s is read correctly, and its offset is reported', (_, ahead, sample) => {
    const [result] = readAll(matomo, [
      { ...of({ ...action, timestamp: action.timestamp + ahead }), firstActionTimestamp: action.timestamp },
    ]);
    expect(timesIn(result)).toEqual(['2024-05-01T10:20:30.000Z']);
    expect(result?.notes).toEqual([{ of: 'matomo_clock_derived', sample }]);
  });

  it('a ping after the last action is not taken for a clock change', () => {
    const ahead = 6 * 3600;
    for (const ping of [600, 1800, 3600]) {
      const end = action.timestamp + ping;
      const shown = { serverTimePretty: new Date((end + ahead) * 1000).toISOString().slice(11, 19) };
      const times = { firstActionTimestamp: action.timestamp, lastActionTimestamp: end };
      const details = of({ ...action, timestamp: action.timestamp + ahead });
      const [result] = readAll(matomo, [{ ...details, ...times, ...shown }]);
      expect(timesIn(result)).toEqual(['2024-05-01T10:20:30.000Z']);
    }
  });

  /** In UTC; the times that Matomo writes are derived from the offset at each. */
  const berlin: readonly (readonly [what: string, change: number, before: number, after: number])[] = [
    ['spring', Date.UTC(2024, 2, 31, 1) / 1000, 3600, 7200],
    ['autumn', Date.UTC(2024, 9, 27, 1) / 1000, 7200, 3600],
  ];
  it.each(berlin)(
    'a change of the clocks in %s keeps the order and the times of the actions',
    (_, change, before, after) => {
      const real = [-4000, -1900, -10, 10, 1900, 4000].map((each) => change + each);
      const details = real.map((each, index) => ({
        ...action,
        pageId: String(index),
        timestamp: each + (each < change ? before : after),
      }));
      const times = { firstActionTimestamp: real[0], lastActionTimestamp: real.at(-1) };
      const [result] = readAll(matomo, [{ ...of(...details), ...times }]);
      expect(timesIn(result)).toEqual(real.map((each) => new Date(each * 1000).toISOString()));
      expect(result?.notes?.map((note) => note.of)).toEqual(['matomo_clock_derived']);
    },
  );

  it('a visit that ends after a clock change but is otherwise before it stays in order', () => {
    const change = Date.UTC(2024, 9, 27, 1) / 1000;
    const real = [change - 7000, change - 6900, change + 60];
    const details = real.map((each, index) => ({
      ...action,
      pageId: String(index),
      timeSpent: index === 0 ? 100 : 6960,
      timestamp: each + (each < change ? 7200 : 3600),
    }));
    const times = { firstActionTimestamp: real[0], lastActionTimestamp: real.at(-1) };
    const [result] = readAll(matomo, [{ ...of(...details), ...times }]);
    expect(timesIn(result)).toEqual(real.map((each) => new Date(each * 1000).toISOString()));
  });

  it.each([
    ['actions are cut off', { truncatedActionsCount: 1 }, 3600],
    ['a ping moved the end', {}, 2700],
  ])('a clock change after the last action does not affect a visit of which %s', (_, more, later) => {
    const change = Date.UTC(2023, 9, 29, 1) / 1000;
    const real = [change - 3000, change - 1500, change - 1100];
    const details = real.map((each, index) => ({
      ...action,
      pageId: String(index),
      ...(index < 2 && { timeSpent: String((real[index + 1] ?? 0) - each) }),
      timestamp: each + 7200,
    }));
    const last = change - 1100 + later;
    const times = { firstActionTimestamp: real[0], lastActionTimestamp: last };
    const shown = new Date((last + 3600) * 1000).toISOString().slice(11, 19);
    const [result] = readAll(matomo, [{ ...of(...details), ...times, ...more, serverTimePretty: shown }]);
    expect(timesIn(result)).toEqual(real.map((each) => new Date(each * 1000).toISOString()));
  });

  it('an unknown zone is taken from the option time_zone, or as UTC, and is noted', () => {
    const record = of({ ...action, timestamp: action.timestamp + 7200 });
    const [byOption] = readAll(matomo, [record], { time_zone: 'Europe/Berlin' });
    expect(timesIn(byOption)).toEqual(['2024-05-01T10:20:30.000Z']);
    expect(byOption?.notes).toEqual([{ of: 'matomo_clock_by_option', sample: '8' }]);
    const [unknown] = readAll(matomo, [record]);
    expect(timesIn(unknown)).toEqual(['2024-05-01T12:20:30.000Z']);
    expect(unknown?.notes).toEqual([{ of: 'matomo_clock_unknown', sample: '8' }]);
    expect(() => readAll(matomo, [], { time_zone: 'Mars/Base' })).toThrow(/time_zone: expected a time zone/);
  });

  it('an hour that the zone of the option repeats keeps the order of the actions', () => {
    const local = ['01:59:50', '02:59:50', '02:00:10', '03:10:00'].map(
      (text) => Date.parse(`2024-10-27T${text}Z`) / 1000,
    );
    const details = Array.from(local, (timestamp, index) => ({ ...action, pageId: String(index), timestamp }));
    const [result] = readAll(matomo, [of(...details)], { time_zone: 'Europe/Berlin' });
    expect(timesIn(result)).toEqual(
      ['2024-10-26T23:59:50', '2024-10-27T00:59:50', '2024-10-27T01:00:10', '2024-10-27T02:10:00'].map(
        (each) => `${each}.000Z`,
      ),
    );
  });

  it('actions that Matomo cut off are noted with their count', () => {
    const [result] = readAll(matomo, [
      { ...visit, truncatedActionsCount: '699', firstActionTimestamp: action.timestamp },
    ]);
    expect(result?.notes).toEqual([{ of: 'matomo_actions_truncated', amount: 699, sample: '8' }]);
    expect(JSON.stringify(result)).not.toContain('"truncatedActionsCount"');
  });

  it('a visit that continued gives its first actions the same uuids again', () => {
    const cart = { type: 'ecommerceAbandonedCart', timestamp: action.timestamp };
    const [first, second] = eventsFrom(matomo, of(action, cart));
    const longer = eventsFrom(matomo, of(action, cart, { ...action, pageId: '2' }));
    expect(longer.slice(0, 2)).toEqual([first, second]);
    const results = checkRecords(matomo, [
      { ...visit, idVisit: null },
      { ...visit, idVisit: null },
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(['events', 'events']);
  });

  it.each([
    [
      { actionDetails: null },
      'expected a visit of Live.getLastVisitsDetails with actionDetails as a list, got nothing',
    ],
    [{ visitorId: '' }, 'expected userId or visitorId, got neither'],
    [{ actionDetails: [action, 1] }, 'actionDetails[1]: expected an object, got a number'],
    [{ actionDetails: [{ timestamp: 1 }] }, 'actionDetails[0]: expected type, got nothing'],
    [
      { actionDetails: [{ ...action, timestamp: '10:20' }] },
      'actionDetails[0]: expected timestamp in seconds since 1970, got a text',
    ],
  ])('rejects %j with the reason', (change, reason) => {
    expect(readAll(matomo, [{ ...visit, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([1, 2])('generated visits (seed %d) give the same events again, without losses or duplicates', (seed) => {
    const results = checkRecords(matomo, [...matomoRecords(seed, 800)]);
    expect(results.filter((result) => result.kind === 'unreadable')).toEqual([]);
  });

  it('anything but a visit is rejected as unreadable, without an exception', () => {
    const full = { ...visit, userId: 'u', resolution: '1x1', customVariables: [], ...action };
    expect(new Set(readHostile(matomo, full))).toEqual(new Set(['unreadable']));
  });
});
