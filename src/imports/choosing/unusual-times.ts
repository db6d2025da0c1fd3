import { isTooFarAhead } from '../../wire/batch/event-time.ts';
import { parseTimestamp } from '../../wire/batch/timestamps.ts';
import { isObject } from '../../base/json.ts';
import type { RuleOf } from '../../wire/contract/unusual-values.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import type { RecordTimes } from '../formats/format.ts';
import { setMember, type Json, type Properties } from '../formats/read-values.ts';
import { anyTime, utc } from '../formats/times.ts';
import { timePattern } from '../formats/mapping/time-rule.ts';

const earliestMicros = Date.UTC(2000, 0, 1) * 1000;

/**
 * Whether a time is before the year 2000, or further ahead than a clock in a wrong time zone explains. `now`: ms since the epoch.
 */
function isUnusualTime(micros: number, now: number): boolean {
  return micros < earliestMicros || isTooFarAhead(micros, now);
}

export function findUnusualTime({ timestamp }: WireEvent, now: number): string | undefined {
  const micros = parseTimestamp(timestamp);
  return micros === undefined || isUnusualTime(micros, now) ? timestamp : undefined;
}

/** Returns the time of a record if it cannot be parsed; `undefined` if it can or is missing. */
export function unreadableTime(record: unknown, { own }: RecordTimes): string | undefined {
  const found = isObject(record) ? firstAt(record, own) : undefined;
  return found === undefined || anyTime(found.value) !== undefined ? undefined : String(found.value).slice(0, 100);
}

/** Returns a record with its time replaced, and the text of the original time; `undefined` if the time stays. */
export type TimeRepair = (record: unknown) => { readonly record: Json; readonly was: string } | undefined;

/** Applies the rules `guess` and `received` before a format reads a record. */
export function createTimeRepair(
  rule: RuleOf<'odd_times'>,
  { own, received }: RecordTimes,
  now: number,
): TimeRepair | undefined {
  if (rule !== 'guess' && rule !== 'received') return undefined;
  const guess = createTimeGuess();
  return (record) => {
    const found = isObject(record) ? firstAt(record, own) : undefined;
    if (!isObject(record) || found === undefined) return undefined;
    const iso = anyTime(found.value);
    if (iso !== undefined && (rule === 'guess' || !isUnusual(iso, now))) return undefined;
    const other = rule === 'received' ? receivedAt(record, received, now) : guessOf(found.value, guess);
    return other === undefined
      ? undefined
      : { record: withValue(record, found.path, other), was: String(found.value).slice(0, 100) };
  };
}

function guessOf(value: unknown, guess: (text: string) => string | undefined): string | undefined {
  return typeof value === 'string' ? guess(value) : undefined;
}

function receivedAt(record: Json, paths: readonly string[], now: number): unknown {
  for (const path of paths) {
    const value = firstAt(record, [path])?.value;
    const iso = anyTime(value);
    if (iso !== undefined && !isUnusual(iso, now)) return value;
  }
  return undefined;
}

function isUnusual(iso: string, now: number): boolean {
  const micros = parseTimestamp(iso);
  return micros === undefined || isUnusualTime(micros, now);
}

interface Found {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Returns the first path with a value. */
function firstAt(record: Json, paths: readonly string[]): Found | undefined {
  for (const text of paths) {
    const path = text.split('.');
    let value: unknown = record;
    for (const key of path) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    if (value !== undefined && value !== null && value !== '') return { path, value };
  }
  return undefined;
}

function withValue(record: Json, [key = '', ...rest]: readonly string[], value: unknown): Json {
  const changed: Properties = { ...record };
  const inner = record[key];
  setMember(changed, key, rest.length === 0 ? value : withValue(isObject(inner) ? inner : {}, rest, value));
  return changed;
}

/** Patterns in which a month name or a leading year tells day and month apart: 03/04/2024 may be two days and matches none. */
const dates = ['d MMM yyyy', 'MMM d yyyy', 'd-MMM-yyyy', 'yyyy/M/d', 'yyyy.M.d', 'yyyy-M-d'];
const clocks = ['', ' H:mm', ' H:mm:ss', ' H:mm:ss.S', ' h:mm a', ' h:mm:ss a'];
const zones = ['', ' X'];
const textMax = 80;

const weekday = /^(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+/i;
const month = /\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?/gi;

/**
 * Parses a time that is not ISO 8601 but has a single meaning, and returns it as ISO 8601, without a zone where the text has
 * none. Returns `undefined` if the text is not a time or is ambiguous.
 */
export function createTimeGuess(): (text: string) => string | undefined {
  const patterns = dates.flatMap((date) =>
    clocks.flatMap((clock) =>
      zones.map((zone) => ({ hasZone: zone !== '', read: timePattern(`${date}${clock}${zone}`, utc, 'odd_times') })),
    ),
  );
  let last = patterns[0];
  return (text) => {
    if (text.length > textMax) return undefined;
    const plain = plainText(text);
    // A source usually writes all its times in one way.
    for (const pattern of last === undefined ? patterns : [last, ...patterns]) {
      const iso = pattern.read(plain);
      if (iso === undefined) continue;
      last = pattern;
      return pattern.hasZone ? iso : iso.slice(0, -1);
    }
    return undefined;
  };
}

function plainText(text: string): string {
  return text
    .trim()
    .replace(/\s*\([^()]*\)$/, '')
    .replace(weekday, '')
    .replaceAll(month, (name) => name.slice(0, 3))
    .replaceAll(/(\d)(?:st|nd|rd|th)\b/gi, '$1')
    .replaceAll(',', ' ')
    .replace(/(\d)T(\d)/, '$1 $2')
    .replace(/\s*\b(?:GMT|UTC)(?=[+-]\d)/i, ' ')
    .replace(/\s*(?:\b(?:GMT|UTC)|(?<=\d)Z)$/i, ' Z')
    .replace(/(:\d\d(?:\.\d+)?)([+-]\d\d)/, '$1 $2')
    .replaceAll(/\s+/g, ' ');
}
