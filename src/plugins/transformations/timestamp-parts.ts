import { defineTransformation, wrongSetting } from '../plugin.ts';
import type { JsonValue } from '../../base/json.ts';
import { propertyPath, readPath } from '../property-path.ts';
import { textSetting } from '../setting-values.ts';

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** Offsets of all zones change only at quarters of an hour. */
const quarterMs = 15 * 60_000;
const offsetsMax = 10_000;

export const timestampParts = defineTransformation({
  slug: 'timestamp-parts',
  name: 'Timestamp parts',
  description: 'Adds the day of the week, day, month, year, hour and minute of the event as properties.',
  alsoKnownAs: [
    'Timestamp Parser',
    'timestamp-parser-plugin',
    'plugin-timestamp-parser-plugin',
    'template-timestamp-parser',
  ],
  differences: ['The time zone is UTC or the configured one; the published one uses that of its machine.'],
  fields: [
    {
      key: 'timeZone',
      name: 'Time zone',
      type: 'string',
      default: 'UTC',
      hint: 'A name such as Europe/Zurich. Summer time is taken into account.',
    },
    {
      key: 'property',
      name: 'Property that holds the time',
      type: 'string',
      hint: 'Seconds or milliseconds since 1970, or ISO 8601 text; an older version read $time. Empty: the time of the event.',
    },
  ],
  example: {
    settings: { property: 'at', timeZone: 'Europe/Zurich' },
    before: { event: 'paid', properties: { at: '2026-07-01T22:30:00Z' } },
    after: {
      properties: {
        at: '2026-07-01T22:30:00Z',
        day_of_the_week: 'Thursday',
        day: 2,
        month: 7,
        year: 2026,
        hour: 0,
        minute: 30,
      },
    },
  },
  create(settings) {
    const offsetAt = zoneOffset(textSetting(settings, 'timeZone', 'UTC').trim());
    const property = textSetting(settings, 'property').trim();
    const path = property === '' ? undefined : propertyPath(property);
    const date = new Date(0);
    return (event) => {
      const ms = path === undefined ? Date.parse(event.timestamp) : millisecondsOf(readPath(event.properties, path));
      if (Number.isNaN(ms)) return event;
      date.setTime(ms + offsetAt(ms));
      if (Number.isNaN(date.getTime())) return event;
      const { properties } = event;
      properties['day_of_the_week'] = weekdays[date.getUTCDay()] ?? '';
      properties['day'] = date.getUTCDate();
      properties['month'] = date.getUTCMonth() + 1;
      properties['year'] = date.getUTCFullYear();
      properties['hour'] = date.getUTCHours();
      properties['minute'] = date.getUTCMinutes();
      return event;
    };
  },
});

/** Returns NaN for an invalid time. Numbers above 999 999 999 999 are milliseconds, others seconds, as in the published plugin. */
function millisecondsOf(value: JsonValue | undefined): number {
  if (typeof value === 'string' && /[^\d.]/.test(value.trim())) return Date.parse(value);
  const given = typeof value === 'number' || (typeof value === 'string' && value.trim() !== '');
  const number = given ? Number(value) : Number.NaN;
  const ms = number > 999_999_999_999 ? number : number * 1000;
  return Math.abs(ms) <= 8.64e15 ? ms : Number.NaN;
}

/** Returns the offset of local time from UTC in ms, for a time in ms since the epoch. */
function zoneOffset(timeZone: string): (ms: number) => number {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'longOffset' });
  } catch (cause) {
    throw wrongSetting('timeZone', 'expected a time zone such as Europe/Zurich', { cause });
  }
  if (/^(UTC|Etc\/UTC|GMT)$/i.test(format.resolvedOptions().timeZone)) return () => 0;
  const known = new Map<number, number>();
  return (ms) => {
    const quarter = Math.floor(ms / quarterMs);
    const before = known.get(quarter);
    if (before !== undefined) return before;
    if (known.size >= offsetsMax) known.clear();
    const offset = offsetOf(format, quarter * quarterMs);
    known.set(quarter, offset);
    return offset;
  };
}

/** Parses `GMT+02:00` or, for times before standard zones, `GMT+00:34:08`. */
function offsetOf(format: Intl.DateTimeFormat, ms: number): number {
  if (Math.abs(ms) > 8.64e15) return 0;
  const name = format.formatToParts(ms).find((part) => part.type === 'timeZoneName')?.value ?? '';
  const match = /^GMT([+-])(\d{2}):(\d{2})(?::(\d{2}))?$/.exec(name);
  if (match === null) return 0;
  const [, sign, hours, minutes, seconds = '0'] = match;
  const size = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
  return (sign === '-' ? -size : size) * 1000;
}
