import { dayMs } from '../../../../base/time.ts';
import type { PlainTime, PlainTimeForm, PlainUnit } from '../../../formats/plain-table.ts';
import { utc, type Zone } from '../../../formats/times.ts';
import { quote } from './canonical-value.ts';
import type { CompiledTable } from './compiled-table.ts';
import { createAnswers } from './fragments.ts';
import type { RecordSpans } from './record-spans.ts';

/** Between these a number says by its size what it counts, and nobody asks about the time. */
const earliestMs = Date.UTC(2000, 0, 1);
const endMs = Date.UTC(2100, 0, 1);
const digitsMax = 16;
const zero = 0x30;

/** µs since the epoch, of a record; NaN: it is odd. */
export type PlainTimes = (spans: RecordSpans, json: Buffer) => number;

export function createPlainTimes(time: PlainTime, table: CompiledTable): PlainTimes {
  if ('path' in time) {
    const member = table.memberOf(time.path);
    return (spans, json) => {
      const from = spans.memberFrom(member);
      return from < 0 ? Number.NaN : microsOf(json, from, spans.memberTo(member), time);
    };
  }
  const { from, read } = time;
  const answers = createAnswers(256, { of: 'members', numbers: from.map(table.memberOf) }, (values) => {
    const text = Buffer.from(JSON.stringify(read(values) ?? ''));
    return microsOf(text, 0, text.length, writtenTime);
  });
  return (spans, json) => answers.of(spans, json) ?? Number.NaN;
}

/** As readers write it. */
const writtenTime: PlainTimeForm = { path: '', zone: utc, numbers: undefined };

/** µs since the epoch, of the value at `from`; NaN: it is odd. */
export function microsOf(json: Buffer, from: number, to: number, time: PlainTimeForm): number {
  const { zone, numbers, unit, areDigits, isKept } = time;
  if (isKept === true && !isWrittenSo(json, from, to)) return Number.NaN;
  const isText = json[from] === quote;
  const mayBeNumber = unit !== undefined || (areDigits === true && to - from - 2 <= digitsMax);
  if (isText && !mayBeNumber) return microsOfText(json, from + 1, to - 1, zone);
  if (numbers === undefined) return Number.NaN;
  return isText
    ? microsOfNumber(json, { from: from + 1, to: to - 1 }, numbers, unit)
    : microsOfNumber(json, { from, to }, numbers, unit);
}

/** As createTimeWriter writes: to the millisecond, or to a microsecond that is none. */
function isWrittenSo(json: Buffer, from: number, to: number): boolean {
  const isMs = to - from === 26;
  const isMicros = to - from === 29 && !(json[to - 5] === zero && json[to - 4] === zero && json[to - 3] === zero);
  return (isMs || isMicros) && json[from + 11] === 0x54 && json[from + 20] === 0x2e && json[to - 2] === 0x5a;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function microsOfNumber(json: Buffer, { from, to }: Span, zone: Zone, unit: PlainUnit | undefined): number {
  if (to - from > digitsMax) return Number.NaN;
  const number = digits(json, from, to);
  if (number < 0) return Number.NaN;
  const counts = unit ?? unitBySize(number);
  if (counts === 's') return within(zone(number * 1000)) * 1000;
  if (counts === 'ms') return within(zone(number)) * 1000;
  const ms = Math.floor(number / 1000);
  return within(zone(ms)) * 1000 + (number - ms * 1000);
}

/** Seconds of these years are less than their milliseconds, and those less than their microseconds. */
function unitBySize(number: number): PlainUnit {
  if (number < earliestMs) return 's';
  return number < earliestMs * 1000 ? 'ms' : 'us';
}

function within(ms: number): number {
  return ms >= earliestMs && ms < endMs ? ms : Number.NaN;
}

/** `YYYY-MM-DDTHH:MM:SS`, also with a space, then perhaps `.` and up to six digits, then `Z`, `+00:00` or nothing. */
function microsOfText(json: Buffer, from: number, to: number, zone: Zone): number {
  const separator = json[from + 10];
  const isForm =
    to - from >= 19 &&
    json[from + 4] === 0x2d &&
    json[from + 7] === 0x2d &&
    (separator === 0x54 || separator === 0x20) &&
    json[from + 13] === 0x3a &&
    json[from + 16] === 0x3a;
  if (!isForm) return Number.NaN;
  const fractionTo = fractionEnd(json, from + 19, to);
  const micros = fractionMicros(json, from + 19, fractionTo);
  const year = digits(json, from, from + 4);
  const month = digits(json, from + 5, from + 7);
  const day = digits(json, from + 8, from + 10);
  const hour = digits(json, from + 11, from + 13);
  const minute = digits(json, from + 14, from + 16);
  const second = digits(json, from + 17, from + 19);
  if ((micros | year | month | day | hour | minute | second) < 0) return Number.NaN;
  // Seconds that only some minutes have are the reader's.
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59)
    return Number.NaN;
  const ownZone = zoneAt(json, fractionTo, to, zone);
  if (ownZone === undefined) return Number.NaN;
  const local = Date.UTC(year, month - 1, day, hour, minute, second);
  return within(ownZone(local)) * 1000 + micros;
}

function daysIn(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

function zoneAt(json: Buffer, from: number, to: number, zone: Zone): Zone | undefined {
  if (from === to) return zone;
  if (to - from === 1) return json[from] === 0x5a ? utc : undefined;
  return to - from === 6 && json.toString('latin1', from, to) === '+00:00' ? utc : undefined;
}

function fractionEnd(json: Buffer, from: number, to: number): number {
  if (json[from] !== 0x2e) return from;
  let at = from + 1;
  while (at < to && (json[at] as number) >= 0x30 && (json[at] as number) <= 0x39) at += 1;
  return at;
}

/** `.123` → 123000; negative: it is no fraction of at most six digits. */
function fractionMicros(json: Buffer, from: number, to: number): number {
  const count = to - from - 1;
  if (count < 0) return 0;
  return count === 0 || count > 6 ? -1 : digits(json, from + 1, to) * 10 ** (6 - count);
}

/** Negative: one of the bytes is no digit. */
function digits(json: Buffer, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at += 1) {
    const digit = (json[at] as number) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    number = number * 10 + digit;
  }
  return number;
}

/** Writes `2021-03-04T05:06:07.089Z`, with six digits where there are microseconds; gives where it ends. */
export type WriteTime = (target: Buffer, at: number, micros: number) => number;

export function createTimeWriter(): WriteTime {
  const date = Buffer.alloc(11);
  let knownDay = Number.NaN;
  return (target, start, micros) => {
    const ms = Math.floor(micros / 1000);
    const day = Math.floor(ms / dayMs);
    if (day !== knownDay) {
      date.write(new Date(day * dayMs).toISOString().slice(0, 11), 'latin1');
      knownDay = day;
    }
    let at = start;
    for (let index = 0; index < 11; index += 1) target[at++] = date[index] as number;
    const inDay = ms - day * dayMs;
    const seconds = Math.floor(inDay / 1000);
    at = putTwo(target, at, Math.floor(seconds / 3600), 0x3a);
    at = putTwo(target, at, Math.floor(seconds / 60) % 60, 0x3a);
    at = putTwo(target, at, seconds % 60, 0x2e);
    at = putThree(target, at, inDay - seconds * 1000);
    const rest = micros - ms * 1000;
    if (rest > 0) at = putThree(target, at, rest);
    target[at] = 0x5a;
    return at + 1;
  };
}

function putTwo(target: Buffer, at: number, number: number, after: number): number {
  target[at] = 0x30 + Math.floor(number / 10);
  target[at + 1] = 0x30 + (number % 10);
  target[at + 2] = after;
  return at + 3;
}

function putThree(target: Buffer, at: number, number: number): number {
  target[at] = 0x30 + Math.floor(number / 100);
  target[at + 1] = 0x30 + (Math.floor(number / 10) % 10);
  target[at + 2] = 0x30 + (number % 10);
  return at + 3;
}
