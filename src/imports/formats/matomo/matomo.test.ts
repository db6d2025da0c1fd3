import { describe, expect, it } from 'vitest';
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
const of = (...actionDetails: readonly unknown[]): Record<string, unknown> => ({ ...visit, actionDetails });

describe('visits of Matomo', () => {
  it('the example is what the reader does', () => {
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

  it('a goal repeats the action that reached it and is left out; the rest of the visit stays', () => {
    const goal = { type: 'goal', goalId: 1, timestamp: action.timestamp };
    expect(eventsFrom(matomo, of(action, goal))).toHaveLength(1);
    expect(readAll(matomo, [of(goal)])).toEqual([
      { kind: 'skipped', reason: 'the table of names leaves out events called goal' },
    ]);
    expect(readAll(matomo, [of()])).toEqual([{ kind: 'skipped', reason: 'a visit without actions' }]);
  });

  it('every action has what is known of the visit; what only serves its display is dropped', () => {
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

  it('variables that are no pairs of name and value stay as they are', () => {
    const variables = { 1: { other: 1 } };
    expect(eventFrom(matomo, { ...visit, customVariables: variables }).properties).toMatchObject({
      customVariables: variables,
    });
  });

  it('a user is known by userId, linked to the visitor once', () => {
    const events = eventsFrom(matomo, { ...of(action, { ...action, pageId: '2' }), userId: 'u1' });
    expect(events.map((event) => [event.event, event.distinct_id])).toEqual([
      ['$identify', 'u1'],
      ['$pageview', 'u1'],
      ['$pageview', 'u1'],
    ]);
  });

  it('the time is the action’s, whatever the visit says', () => {
    const timestamp = String(action.timestamp);
    const event = eventFrom(matomo, { ...of({ ...action, timestamp }), serverTimestamp: 1_714_566_030 });
    expect(event.timestamp).toBe('2024-05-01T10:20:30.000Z');
  });

  it('a visit that went on gives its first actions the same uuid again', () => {
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
  ])('refuses %j and says why', (change, reason) => {
    expect(readAll(matomo, [{ ...visit, ...change }])).toEqual([{ kind: 'unreadable', reason }]);
  });

  it.each([1, 2])('generated visits (seed %d) give the same events again, none lost and none twice', (seed) => {
    const results = checkRecords(matomo, [...matomoRecords(seed, 800)]);
    expect(results.filter((result) => result.kind === 'unreadable')).toEqual([]);
  });

  it('what is no visit is unreadable, never an exception', () => {
    const full = { ...visit, userId: 'u', resolution: '1x1', customVariables: [], ...action };
    expect(new Set(readHostile(matomo, full))).toEqual(new Set(['unreadable']));
  });
});
