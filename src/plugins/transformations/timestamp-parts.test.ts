import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../base/json.ts';
import { transform, transformed } from './transformation.fixture.ts';
import { testHost } from '../../../test/support/transformation-host.ts';
import { timestampParts } from './timestamp-parts.ts';

function partsOf(timestamp: string, settings: Record<string, string> = {}) {
  return transform(timestampParts, settings, { timestamp })?.properties;
}

describe('timestamp parts', () => {
  it('does what its example shows', () => {
    const { settings, before, after } = timestampParts.example;
    expect(transform(timestampParts, settings, before)).toEqual(after);
  });

  it('uses the time of the event, in UTC', () => {
    expect(partsOf('2024-02-29T23:59:59.999Z')).toEqual({
      day_of_the_week: 'Thursday',
      day: 29,
      month: 2,
      year: 2024,
      hour: 23,
      minute: 59,
    });
  });

  it('agrees with Intl in any zone, also around the change to summer time', () => {
    const zones = ['Europe/Zurich', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'UTC', 'Etc/GMT+5'];
    for (const timeZone of zones) {
      const format = new Intl.DateTimeFormat('en-GB', {
        timeZone,
        weekday: 'long',
        day: 'numeric',
        month: 'numeric',
        year: 'numeric',
        hour: '2-digit',
        hourCycle: 'h23',
        minute: '2-digit',
      });
      for (let step = 0; step < 400; step++) {
        const ms = Date.UTC(2026, 2, 27) + step * 61 * 60_000 + (step % 7) * 31 * 86_400_000;
        const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, value]));
        expect(partsOf(new Date(ms).toISOString(), { timeZone })).toEqual({
          day_of_the_week: part['weekday'],
          day: Number(part['day']),
          month: Number(part['month']),
          year: Number(part['year']),
          hour: Number(part['hour']),
          minute: Number(part['minute']),
        });
      }
    }
  });

  it.each<[JsonValue, number]>([
    [1_611_772_203.557, 2021],
    ['1611772203.557', 2021],
    [1_611_772_203_557, 2021],
    ['2021-01-27', 2021],
    [0, 1970],
  ])('reads %j from a property', (value, year) => {
    expect(transformed(timestampParts, { property: 'a.t' }, { a: { t: value } })).toMatchObject({ year });
  });

  it.each<JsonValue>(['', ' ', 'soon', null, true, {}, [], 1e300, '1.2.3'])('leaves an event whose time is %j', (t) => {
    expect(transformed(timestampParts, { property: 't' }, { t })).toEqual({ t });
    expect(transformed(timestampParts, { property: 't' }, {})).toEqual({});
  });

  it('refuses an unknown zone', () => {
    expect(() => timestampParts.create({ timeZone: 'Europe/Nowhere' }, testHost())).toThrow('expected a time zone');
  });
});
