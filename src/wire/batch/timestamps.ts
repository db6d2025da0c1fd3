import { epochUnit } from '../../base/epoch.ts';

/**
 * Reads the time formats that client libraries send. Times are microseconds since the epoch, as numbers that are exact until
 * the year 2255. A text without a zone is UTC. Functions return `undefined` for times that do not exist (30 February, +99:00).
 */
const secondMicros = 1_000_000;
const minuteMicros = 60 * secondMicros;
const hourMicros = 60 * minuteMicros;
export const dayMicros = 24 * hourMicros;

/** Accepted forms: RFC 3339 and relatives, ISO week and ordinal dates, slash dates, RFC 2822, epoch seconds, ms or µs. */
export function parseTimestamp(text: string): number | undefined {
  const trimmed = text.trim();
  return parseIso(trimmed) ?? parseEpoch(trimmed) ?? parseRfc2822(trimmed);
}

const microsPer = { s: 1e6, ms: 1e3, us: 1, ns: Number.NaN } as const;

/** Converts an epoch number whose unit is inferred from its size. Nanoseconds are refused: no client sends them. */
export function epochMicros(value: number): number | undefined {
  const micros = Math.round(value * microsPer[epochUnit(value)]);
  return Number.isNaN(micros) ? undefined : micros;
}

function parseEpoch(text: string): number | undefined {
  // Fewer than nine digits are not a plausible time in seconds but a year, a count or a date without separators (see parseIso).
  return /^-?\d{9,17}(\.\d+)?$/.test(text) ? epochMicros(Number(text)) : undefined;
}

const isoDate =
  /^(?:(?<y>\d{4})(?:-(?<m>\d\d)-(?<d>\d\d)|-W(?<w>\d\d)-?(?<wd>[1-7])|W(?<w2>\d\d)(?<wd2>[1-7])|-(?<o>\d{3})|(?<m2>\d\d)(?<d2>\d\d)|\/(?<m3>\d{1,2})\/(?<d3>\d{1,2}))|(?<m4>\d{1,2})\/(?<d4>\d{1,2})\/(?<y4>\d{4}))/i;
const clockTime = /^(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?$/;
const zone = /\s*(?:(Z|UTC|GMT)|([+-])(\d\d)(?::?(\d\d))?)$/i;

function parseIso(text: string): number | undefined {
  const match = isoDate.exec(text);
  if (match?.groups === undefined) return undefined;
  const day = dayOf(match.groups);
  if (day === undefined) return undefined;
  const rest = text.slice(match[0].length);
  if (rest === '') return day * dayMicros;
  const separator = /^(?:[Tt]|\s+)/.exec(rest);
  if (separator === null) return undefined;
  return parseClock(day, rest.slice(separator[0].length));
}

function dayOf(groups: Readonly<Record<string, string | undefined>>): number | undefined {
  const year = Number(groups['y'] ?? groups['y4']);
  const week = groups['w'] ?? groups['w2'];
  if (week !== undefined) return dayOfWeekDate(year, Number(week), Number(groups['wd'] ?? groups['wd2']));
  if (groups['o'] !== undefined) return dayOfOrdinal(year, Number(groups['o']));
  const month = Number(groups['m'] ?? groups['m2'] ?? groups['m3'] ?? groups['m4']);
  const day = Number(groups['d'] ?? groups['d2'] ?? groups['d3'] ?? groups['d4']);
  return dayOfDate(year, month, day);
}

/** Parses a time of day with an optional zone, on the given day. */
function parseClock(day: number, text: string): number | undefined {
  const zoned = zone.exec(text);
  const offset = zoned === null ? 0 : zoneMicros(zoned);
  const parts = clockTime.exec(zoned === null ? text : text.slice(0, zoned.index));
  if (parts === null || offset === undefined) return undefined;
  const time = timeOfDay(Number(parts[1]), Number(parts[2]), Number(parts[3] ?? 0));
  if (time === undefined) return undefined;
  const fraction = Number((parts[4] ?? '').padEnd(6, '0').slice(0, 6));
  return day * dayMicros + time + fraction - offset;
}

/** Also accepts the leap second :60 and 24:00:00, which both mean the start of the next minute or day. */
function timeOfDay(hour: number, minute: number, second: number): number | undefined {
  const endOfDay = hour === 24 && minute === 0 && second === 0;
  if ((hour > 23 && !endOfDay) || minute > 59 || second > 60) return undefined;
  return hour * hourMicros + minute * minuteMicros + second * secondMicros;
}

function zoneMicros(match: RegExpExecArray): number | undefined {
  if (match[1] !== undefined) return 0;
  const hours = Number(match[3]);
  const minutes = Number(match[4] ?? 0);
  if (hours > 23 || minutes > 59) return undefined;
  const size = hours * hourMicros + minutes * minuteMicros;
  return match[2] === '-' ? -size : size;
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const weekdayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
/** Hours west of Greenwich of the zone names in RFC 2822. */
const zoneNames: Readonly<Record<string, number>> = {
  ut: 0,
  gmt: 0,
  utc: 0,
  z: 0,
  edt: 4,
  est: 5,
  cdt: 5,
  cst: 6,
  mdt: 6,
  mst: 7,
  pdt: 7,
  pst: 8,
};
const rfc2822 =
  /^(?:([a-z]{3}),\s*)?(\d{1,2})\s+([a-z]{3})\s+(\d{4})\s+(\d\d):(\d\d)(?::(\d\d))?\s*(?:([+-])(\d\d)(\d\d)|([a-z]{1,3}))$/i;

function parseRfc2822(text: string): number | undefined {
  const match = rfc2822.exec(text);
  if (match === null) return undefined;
  const [, weekday, dayText, monthName = '', year, hour, minute, second, , , , zoneName] = match;
  const day = dayOfDate(Number(year), monthNames.indexOf(monthName.toLowerCase()) + 1, Number(dayText));
  const time = timeOfDay(Number(hour), Number(minute), Number(second ?? 0));
  const offset = zoneName === undefined ? numericZone(match) : zoneNames[zoneName.toLowerCase()];
  if (day === undefined || time === undefined || offset === undefined) return undefined;
  // 1970-01-01 was a Thursday. A date with a wrong weekday is not the one meant.
  if (weekday !== undefined && weekdayNames.indexOf(weekday.toLowerCase()) !== modulo(day + 4, 7)) return undefined;
  return day * dayMicros + time + offset * hourMicros;
}

/** Returns hours west of Greenwich. */
function numericZone(match: RegExpExecArray): number | undefined {
  const hours = Number(match[9]);
  const minutes = Number(match[10]);
  if (hours > 23 || minutes > 59) return undefined;
  return (hours + minutes / 60) * (match[8] === '-' ? 1 : -1);
}

const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/** Returns days since the epoch, or `undefined` if the day does not exist. */
export function dayOfDate(year: number, month: number, day: number): number | undefined {
  if (month < 1 || month > 12 || day < 1) return undefined;
  if (day > (monthDays[month - 1] as number) + (month === 2 && isLeap(year) ? 1 : 0)) return undefined;
  // Years start in March, so that the leap day is the last day (Howard Hinnant, "days_from_civil").
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

function dayOfOrdinal(year: number, ordinal: number): number | undefined {
  if (ordinal < 1 || ordinal > (isLeap(year) ? 366 : 365)) return undefined;
  return firstDay(year) + ordinal - 1;
}

function dayOfWeekDate(year: number, week: number, weekday: number): number | undefined {
  const start = firstMonday(year);
  if (week < 1 || week > (firstMonday(year + 1) - start) / 7) return undefined;
  return start + (week - 1) * 7 + weekday - 1;
}

/** Returns the Monday of ISO week 1, which contains 4 January. */
function firstMonday(year: number): number {
  const fourth = firstDay(year) + 3;
  return fourth - modulo(fourth + 3, 7);
}

function firstDay(year: number): number {
  return dayOfDate(year, 1, 1) as number;
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}

/**
 * Parses the form that nearly every client sends, `"YYYY-MM-DDTHH:MM:SS(.f{1,9})Z"` with quotes at `from` and `to - 1`, directly
 * from the bytes. Returns `undefined` for any other form, which `parseTimestamp` decides.
 */
export function parseIsoBytes(json: Buffer, from: number, to: number): number | undefined {
  const at = from + 1;
  if (to - from < 22 || json[to - 2] !== 0x5a || json[at + 4] !== 0x2d || json[at + 7] !== 0x2d) return undefined;
  if (json[at + 10] !== 0x54 || json[at + 13] !== 0x3a || json[at + 16] !== 0x3a) return undefined;
  const fraction = fractionMicros(json, at + 19, to - 2);
  const century = twoDigits(json, at);
  const year = twoDigits(json, at + 2);
  const month = twoDigits(json, at + 5);
  const dayOfMonth = twoDigits(json, at + 8);
  const hour = twoDigits(json, at + 11);
  const minute = twoDigits(json, at + 14);
  const second = twoDigits(json, at + 17);
  // Negative if one of the bytes is not a digit.
  if ((fraction | century | year | month | dayOfMonth | hour | minute | second) < 0) return undefined;
  const day = dayOfDate(century * 100 + year, month, dayOfMonth);
  const time = timeOfDay(hour, minute, second);
  return day === undefined || time === undefined ? undefined : day * dayMicros + time + fraction;
}

/** Returns a negative number if a byte is not a digit. */
function twoDigits(json: Buffer, at: number): number {
  const tens = digit(json[at] as number);
  const ones = digit(json[at + 1] as number);
  return (tens | ones) < 0 ? -1 : tens * 10 + ones;
}

function digit(byte: number): number {
  return byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : -1;
}

/** Converts `.123456789` to 123456 and nothing to 0. Returns a negative number for anything else. */
function fractionMicros(json: Buffer, from: number, to: number): number {
  if (from === to) return 0;
  if (json[from] !== 0x2e || to - from < 2 || to - from > 10) return -1;
  let micros = 0;
  let wrong = 0;
  for (let at = from + 1; at < to; at++) {
    const value = digit(json[at] as number);
    wrong |= value;
    if (at <= from + 6) micros = micros * 10 + value;
  }
  for (let i = to - from; i <= 6; i++) micros *= 10;
  return wrong < 0 ? -1 : micros;
}
