import { isoOfMicros } from '../../../../base/clock.ts';
import { parseTimestamp } from '../../../../wire/batch/timestamps.ts';

/**
 * Times of events as text, parsed exactly as in ingest. The form that nearly every reader writes is parsed without a regular
 * expression, because a check does this millions of times.
 */
export interface ReadTime {
  /** µs since the epoch. */
  micros: number;
  /** ISO 8601 in UTC, at most microseconds. */
  text: string;
}

export type TimeReader = (text: string) => ReadTime | undefined;

const secondMicros = 1_000_000;

/** The reader returns the same object on every call. */
export function createTimeReader(): TimeReader {
  const answer: ReadTime = { micros: 0, text: '' };
  const dayStart = createDayStarts();
  return (text) => {
    const plain = plainMicros(text, dayStart);
    const micros = plain ?? parseTimestamp(text);
    if (micros === undefined) return undefined;
    answer.micros = micros;
    answer.text = plain !== undefined && text.length <= 27 ? text : isoOfMicros(micros);
    return answer;
  };
}

/** YYYY-MM-DD, UTC. */
export function dayOfMicros(micros: number): string {
  return new Date(Math.floor(micros / 1000)).toISOString().slice(0, 10);
}

/**
 * Parses `YYYY-MM-DDTHH:MM:SS(.f{1,9})Z` with an ordinary second; `undefined` for other forms, which may still be times.
 */
function plainMicros(text: string, dayStart: (day: string) => number | undefined): number | undefined {
  const last = text.length - 1;
  if (last < 19 || last > 29 || text.charCodeAt(last) !== 0x5a || text.charCodeAt(10) !== 0x54) return undefined;
  if (text.charCodeAt(13) !== 0x3a || text.charCodeAt(16) !== 0x3a) return undefined;
  const hour = twoDigits(text, 11);
  const minute = twoDigits(text, 14);
  const second = twoDigits(text, 17);
  const fraction = last === 19 ? 0 : fractionMicros(text, last);
  if ((hour | minute | second | fraction) < 0 || hour > 23 || minute > 59 || second > 59) return undefined;
  const day = dayStart(text.slice(0, 10));
  return day === undefined ? undefined : day + (hour * 3600 + minute * 60 + second) * secondMicros + fraction;
}

const daysMax = 5000;

/** Caches the start of each day by its text. */
function createDayStarts(): (day: string) => number | undefined {
  const known = new Map<string, number | undefined>();
  return (day) => {
    const start = known.get(day);
    if (start !== undefined) return start;
    if (known.size >= daysMax) known.clear();
    const found = /^\d{4}-\d\d-\d\d$/.test(day) ? parseTimestamp(day) : undefined;
    known.set(day, found);
    return found;
  };
}

/** Returns a negative number if one of the two is not a digit. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 0x30;
  const ones = text.charCodeAt(at + 1) - 0x30;
  return tens < 0 || tens > 9 || ones < 0 || ones > 9 ? -1 : tens * 10 + ones;
}

/** `.123456789Z` → 123456; negative if it is not a fraction. */
function fractionMicros(text: string, last: number): number {
  if (last < 21 || text.charCodeAt(19) !== 0x2e) return -1;
  let micros = 0;
  for (let at = 20; at < last; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    if (at < 26) micros = micros * 10 + digit;
  }
  for (let at = last; at < 26; at += 1) micros *= 10;
  return micros;
}
