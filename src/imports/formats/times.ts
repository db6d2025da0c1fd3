import { exactNumber, exactNumberFrom } from '../../base/exact-json.ts';
import { epochUnit, type EpochUnit } from '../../base/epoch.ts';
import { createLocalOffset } from '../../base/local-time.ts';
import { dayMs } from '../../base/time.ts';
import { FormatOptionsError } from './format.ts';
import { kindOf, type Json } from './read-values.ts';

/**
 * Times of records as ISO 8601 in UTC, to the microsecond. `undefined` means that a value is not a time or is outside the years
 * 1900 to 2299, the range of protocol and store. No value is ever replaced by the current time.
 */
/** Converts wall-clock time as ms (as if it were UTC) to ms since the epoch. */
export type Zone = (localMs: number) => number;

const earliestMs = Date.UTC(1900, 0, 1);
const endMs = Date.UTC(2300, 0, 1);
const perMs: Readonly<Record<EpochUnit, number>> = { s: 0.001, ms: 1, us: 1000, ns: 1_000_000 };

export const utc: Zone = (localMs) => localMs;

/**
 * Whether a number needs its unit: milliseconds before 1990 are as large as seconds from the year 5138 on, likewise for the
 * smaller units. Guessing would silently change a time.
 */
function isAmbiguous(value: number): boolean {
  const size = Math.abs(value);
  return epochLimits.some((from) => size >= from && size < from * untilYear1990);
}
const epochLimits = [1e11, 1e14, 1e17] as const;
const untilYear1990 = Date.UTC(1990, 0, 1) / 1e11;

/** Converts a number or a text of digits. Without a unit its size decides. Digits below the microsecond are rounded. */
export function epochTime(value: unknown, unit?: EpochUnit, zone: Zone = utc): string | undefined {
  const number = typeof value === 'string' ? numberIn(value) : value;
  if (typeof number !== 'number') return longEpochTime(exactNumber(number), unit, zone);
  if (!Number.isFinite(number)) return undefined;
  if (unit === undefined && isAmbiguous(number)) return undefined;
  const divisor = perMs[unit ?? epochUnit(number)];
  // Splitting whole milliseconds from microseconds keeps every digit.
  const micros = divisor === 1000 ? Math.trunc(number) : Math.round((number / divisor) * 1000);
  const ms = Math.floor(micros / 1000);
  return isoTime(zone(ms), micros - ms * 1000);
}

function numberIn(text: string): unknown {
  const [, sign = '', digits] = /^\s*(-?)0*(\d+(?:\.\d+)?)\s*$/.exec(text) ?? [];
  return digits === undefined ? undefined : exactNumberFrom(sign + digits);
}

const powers: Readonly<Record<EpochUnit, bigint>> = { s: 1_000_000n, ms: 1000n, us: 1n, ns: 1n };

/** Handles numbers with more digits than a double holds: nanoseconds have 19. */
function longEpochTime(text: string | undefined, unit: EpochUnit | undefined, zone: Zone): string | undefined {
  const [, whole, fraction = ''] = /^(-?\d{1,40})(?:\.(\d{1,40}))?$/.exec(text ?? '') ?? [];
  if (whole === undefined || (unit === undefined && isAmbiguous(Number(whole)))) return undefined;
  const known = unit ?? epochUnit(Number(whole));
  const divisor = 10n ** BigInt(fraction.length) * (known === 'ns' ? 1000n : 1n);
  // Doubling and adding the divisor before halving rounds as Math.round does.
  const micros = floorOf(2n * BigInt(whole + fraction) * powers[known] + divisor, 2n * divisor);
  const ms = floorOf(micros, 1000n);
  return isoTime(zone(Number(ms)), Number(micros - ms * 1000n));
}

function floorOf(number: bigint, divisor: bigint): bigint {
  const quotient = number / divisor;
  return number < 0n && quotient * divisor !== number ? quotient - 1n : quotient;
}

const datePattern =
  /^\s*(\d{4})-(\d\d)-(\d\d)(?:[T ]+(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?)?\s*$/i;

/** Parses `2021-03-04T05:06:07.089Z` or `2021-03-04 05:06:07.089123`, with or without a zone; without one, `zone` applies. */
export function textTime(value: unknown, zone: Zone = utc): string | undefined {
  if (typeof value !== 'string' || value.length > 64) return undefined;
  const match = datePattern.exec(value);
  if (match === null) return undefined;
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset] = match;
  const localMs = wallClock(Number(year), Number(month), Number(day), Number(hour), Number(minute), Number(second));
  if (localMs === undefined) return undefined;
  const minutes = offset === undefined ? undefined : offsetMinutes(offset);
  if (offset !== undefined && minutes === undefined) return undefined;
  const ms = minutes === undefined ? zone(localMs) : localMs - minutes * 60_000;
  return isoSeconds(ms, fraction);
}

/** Returns milliseconds as if in UTC; `undefined` if there is no such day or hour. Second 60 is the first of the next minute. */
export function wallClock(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number | undefined {
  // Date maps the years 0 to 99 to 1900 onwards.
  if (year < 100) return undefined;
  if (hour > 23 || minute > 59 || second > 60 || month < 1 || month > 12 || day < 1) return undefined;
  const ms = Date.UTC(year, month - 1, day, hour, minute, second);
  return day > 28 && new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day ? undefined : ms;
}

/** Reads a time in any form: a number or digit text by its size, other text as ISO 8601. */
export function anyTime(value: unknown, zone: Zone = utc): string | undefined {
  return textTime(value, zone) ?? epochTime(value);
}

/** Names the kind of a value that is not a valid time, as `kindOf` does, and says if the time is out of range. */
export function kindOfTime(value: unknown): string {
  const year = typeof value === 'string' ? (writtenYear(value) ?? epochYear(numberIn(value))) : epochYear(value);
  if (year !== undefined && year >= 2100) return 'a time too far in the future';
  if (year !== undefined && year < 1990) return 'a time too far in the past';
  return kindOf(value);
}

/** Like `kindOfTime`, for the first field with a value. */
export function kindOfTimes(record: Json, fields: readonly string[]): string {
  const field = fields.find((each) => kindOf(record[each]) !== kindOf(undefined));
  return field === undefined ? kindOf(undefined) : `${kindOfTime(record[field])} in ${field}`;
}

/** Returns the year only if it is out of range; other invalid dates are not wrong because of their year. */
function writtenYear(text: string): number | undefined {
  const year = Number(datePattern.exec(text)?.[1]);
  return year < 1900 || year >= 2300 ? year : undefined;
}

function epochYear(number: unknown): number | undefined {
  if (typeof number !== 'number' || !Number.isFinite(number) || isAmbiguous(number)) return undefined;
  return new Date(number / perMs[epochUnit(number)]).getUTCFullYear();
}

/** `micros`: 0 to 999, below the millisecond. */
function isoTime(ms: number, micros: number): string | undefined {
  if (!(ms >= earliestMs && ms < endMs)) return undefined;
  const day = Math.floor(ms / dayMs);
  if (day !== latest.day) {
    latest.day = day;
    latest.text = new Date(day * dayMs).toISOString().slice(0, 11);
  }
  const ofDay = ms - day * dayMs;
  const minutes = Math.floor(ofDay / 60_000);
  const ofMinute = ofDay - minutes * 60_000;
  const seconds = Math.floor(ofMinute / 1000);
  const below = threeDigits(ofMinute - seconds * 1000) + (micros === 0 ? '' : threeDigits(micros));
  return `${latest.text}${clockTexts[minutes] ?? ''}:${twoDigits(seconds)}.${below}Z`;
}

/** Adjacent records mostly have the same day, and `toISOString` is slow. */
const latest = { day: Number.NaN, text: '' };
const twoDigits = (number: number): string => (number < 10 ? `0${number}` : `${number}`);
const threeDigits = (number: number): string => (number < 100 ? `0${twoDigits(number)}` : `${number}`);
const clockTexts = Array.from(
  { length: 1440 },
  (_, minute) => `${twoDigits(Math.floor(minute / 60))}:${twoDigits(minute % 60)}`,
);

/** `fraction`: digits below the second, as in the source; digits beyond the microsecond are cut off. */
export function isoSeconds(ms: number, fraction: string): string | undefined {
  const micros = fraction === '' ? 0 : Number(fraction.slice(0, 6).padEnd(6, '0'));
  return isoTime(ms + Math.floor(micros / 1000), micros % 1000);
}

/** Returns the zone for an IANA name such as Europe/Berlin, UTC, or an offset such as +05:30. Throws FormatOptionsError. */
export function zoneOption(option: string, name: string): Zone {
  const minutes = offsetMinutes(name);
  if (minutes === 0) return utc;
  if (minutes !== undefined) return (localMs) => localMs - minutes * 60_000;
  try {
    return namedZone(name);
  } catch (cause) {
    throw new FormatOptionsError(
      `${option}: expected a time zone such as Europe/Berlin, UTC or +05:30, got: ${name.slice(0, 60)}`,
      { cause },
    );
  }
}

/** Offsets change only at quarter hours. */
const slotMs = 900_000;
const slotsMax = 50_000;

/** See createLocalOffset. Throws RangeError for an unknown name. */
function namedZone(name: string): Zone {
  const resolve = createLocalOffset(name);
  const known = new Map<number, number>();
  return (localMs) => {
    if (!(localMs >= earliestMs - dayMs && localMs < endMs + dayMs)) return Number.NaN;
    const slot = Math.floor(localMs / slotMs);
    let offset = known.get(slot);
    if (offset === undefined) {
      offset = resolve(slot * slotMs);
      if (known.size >= slotsMax) known.clear();
      known.set(slot, offset);
    }
    return localMs - offset;
  };
}

/** Returns the minutes east of Greenwich of `Z`, `UTC`, `+05:30`, `-0800` or `+02`; `undefined` for anything else. */
export function offsetMinutes(text: string): number | undefined {
  if (/^(z|utc)$/i.test(text)) return 0;
  const match = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, hours, minutes = '0'] = match;
  const total = Number(hours) * 60 + Number(minutes);
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return sign === '-' ? -total : total;
}
