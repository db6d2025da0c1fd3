// Parses and writes times of records.
import { QUOTE, byteAt, isDigit } from './bytes';
import { fromZone } from './host';

const EARLIEST_MS: i64 = 946684800000; // 2000-01-01
const END_MS: i64 = 4102444800000; // 2100-01-01
const DIGITS_MAX: usize = 16;
export const DAY_MS: i64 = 86400000;
/** An unusual time. */
export const NO_TIME: i64 = -1;
/** Zones without a clock. */
const UTC: i32 = 0;
const NO_ZONE: i32 = -1;
const SECONDS: i32 = 1;
const MILLISECONDS: i32 = 2;
const MICROSECONDS: i32 = 3;

/** Zone of texts that state none, and of numbers, where -1 means unusual. */
export let textZone: i32 = UTC;
export let numberZone: i32 = NO_ZONE;
/** Unit of numbers and digit texts: 1 seconds, 2 milliseconds, 3 microseconds; 0 means by their size. */
export let timeUnit: i32 = 0;
/** Whether texts of digits are numbers. */
export let areDigits: bool = false;
/** Whether texts stay unchanged: those that would be rewritten are unusual. */
export let isKept: bool = false;

/** Returns µs since the epoch for a value. */
export function microsOf(from: usize, to: usize): i64 {
  if (isKept && !isWrittenSo(from, to)) return NO_TIME;
  const isText = byteAt(from) == QUOTE;
  const mayBeNumber = timeUnit != 0 || (areDigits && <i32>(to - from) - 2 <= <i32>DIGITS_MAX);
  if (isText && !mayBeNumber) return microsOfText(from + 1, to - 1, textZone);
  if (numberZone == NO_ZONE) return NO_TIME;
  return isText ? microsOfNumber(from + 1, to - 1) : microsOfNumber(from, to);
}

/** Whether writeTime would write the same: to the millisecond, or to a microsecond other than zero. */
function isWrittenSo(from: usize, to: usize): bool {
  const isMs = to - from == 26;
  const isMicros = to - from == 29 && !(byteAt(to - 5) == 0x30 && byteAt(to - 4) == 0x30 && byteAt(to - 3) == 0x30);
  return (isMs || isMicros) && byteAt(from + 11) == 0x54 && byteAt(from + 20) == 0x2e && byteAt(to - 2) == 0x5a;
}

function microsOfNumber(from: usize, to: usize): i64 {
  if (to - from > DIGITS_MAX) return NO_TIME;
  const number = digits(from, to);
  if (number < 0) return NO_TIME;
  let unit = timeUnit;
  // In these years the ranges of seconds, milliseconds and microseconds do not overlap.
  if (unit == 0) unit = number < EARLIEST_MS ? SECONDS : number < EARLIEST_MS * 1000 ? MILLISECONDS : MICROSECONDS;
  if (unit == SECONDS) return microsFrom(number * 1000, numberZone, 0);
  if (unit == MILLISECONDS) return microsFrom(number, numberZone, 0);
  return microsFrom(number / 1000, numberZone, number % 1000);
}

function microsFrom(ms: i64, zone: i32, rest: i64): i64 {
  if (zone == UTC) return ms >= EARLIEST_MS && ms < END_MS ? ms * 1000 + rest : NO_TIME;
  const known = fromZone(zone, <f64>ms);
  return known >= <f64>EARLIEST_MS && known < <f64>END_MS ? <i64>(known * 1000) + rest : NO_TIME;
}

/** Parses `YYYY-MM-DDTHH:MM:SS`, also with a space, then optionally `.` and up to six digits, then `Z`, `+00:00` or nothing. */
export function microsOfText(from: usize, to: usize, zone: i32): i64 {
  if (to < from + 19) return NO_TIME;
  const separator = byteAt(from + 10);
  const isForm =
    byteAt(from + 4) == 0x2d &&
    byteAt(from + 7) == 0x2d &&
    (separator == 0x54 || separator == 0x20) &&
    byteAt(from + 13) == 0x3a &&
    byteAt(from + 16) == 0x3a;
  if (!isForm) return NO_TIME;
  const fractionTo = fractionEnd(from + 19, to);
  const micros = fractionMicros(from + 19, fractionTo);
  const year = digits(from, from + 4);
  const month = digits(from + 5, from + 7);
  const day = digits(from + 8, from + 10);
  const hour = digits(from + 11, from + 13);
  const minute = digits(from + 14, from + 16);
  const second = digits(from + 17, from + 19);
  if ((micros | year | month | day | hour | minute | second) < 0) return NO_TIME;
  // Leap seconds are left to the reader.
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59) {
    return NO_TIME;
  }
  const ownZone = zoneAt(fractionTo, to, zone);
  if (ownZone == NO_ZONE) return NO_TIME;
  const local = daysBefore(year, month, day) * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000;
  return microsFrom(local, ownZone, micros);
}

function daysIn(year: i64, month: i64): i64 {
  if (month != 2) return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28;
}

/** Returns days since the epoch. The year begins with March here, so that the leap day is its last. */
function daysBefore(year: i64, month: i64, day: i64): i64 {
  const y = month <= 2 ? year - 1 : year;
  const era = (y >= 0 ? y : y - 399) / 400;
  const yearOfEra = y - era * 400;
  const dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
}

function zoneAt(from: usize, to: usize, zone: i32): i32 {
  if (from == to) return zone;
  if (to - from == 1) return byteAt(from) == 0x5a ? UTC : NO_ZONE;
  // +00:00
  return to - from == 6 && load<u32>(from) == 0x3a30302b && load<u16>(from + 4) == 0x3030 ? UTC : NO_ZONE;
}

function fractionEnd(from: usize, to: usize): usize {
  if (from >= to || byteAt(from) != 0x2e) return from;
  let at = from + 1;
  while (at < to && isDigit(byteAt(at))) at++;
  return at;
}

/** Parses `.123` → 123000; negative if it is not a fraction of at most six digits. */
function fractionMicros(from: usize, to: usize): i64 {
  if (from == to) return 0;
  const count = to - from - 1;
  if (count == 0 || count > 6) return -1;
  let number = digits(from + 1, to);
  for (let more = count; more < 6; more++) number *= 10;
  return number;
}

/** Negative if one of the bytes is not a digit. */
function digits(from: usize, to: usize): i64 {
  let number: i64 = 0;
  for (let at = from; at < to; at++) {
    const byte = byteAt(at);
    if (!isDigit(byte)) return -1;
    number = number * 10 + (byte - 0x30);
  }
  return number;
}

let knownDay: i64 = -1;
/** Cached text of the form `2021-03-04T`. */
const knownDate: usize = memory.data(16, 16);

/** Writes `2021-03-04T05:06:07.089Z`, with six digits if there are microseconds; returns the end. */
export function writeTime(start: usize, micros: i64): usize {
  const ms = micros / 1000;
  const day = ms / DAY_MS;
  if (day != knownDay) {
    writeDate(day);
    knownDay = day;
  }
  memory.copy(start, knownDate, 11);
  let at = start + 11;
  const inDay = <u32>(ms - day * DAY_MS);
  const seconds = inDay / 1000;
  at = putTwo(at, seconds / 3600, 0x3a);
  at = putTwo(at, (seconds / 60) % 60, 0x3a);
  at = putTwo(at, seconds % 60, 0x2e);
  at = putThree(at, inDay - seconds * 1000);
  const rest = <u32>(micros - ms * 1000);
  if (rest > 0) at = putThree(at, rest);
  store<u8>(at, 0x5a);
  return at + 1;
}

/** Writes a day from 1970 on: the inverse of daysBefore. */
function writeDate(days: i64): void {
  const shifted = days + 719468;
  const era = shifted / 146097;
  const dayOfEra = shifted - era * 146097;
  const yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365;
  const dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const month = (5 * dayOfYear + 2) / 153;
  const day = <u32>(dayOfYear - (153 * month + 2) / 5) + 1;
  const monthOfYear = <u32>(month < 10 ? month + 3 : month - 9);
  const year = <u32>(yearOfEra + era * 400) + (monthOfYear <= 2 ? 1 : 0);
  let at = putTwo(knownDate, year / 100, 0x30) - 1;
  at = putTwo(at, year % 100, 0x2d);
  at = putTwo(at, monthOfYear, 0x2d);
  putTwo(at, day, 0x54);
}

function putTwo(at: usize, number: u32, after: u32): usize {
  store<u8>(at, 0x30 + number / 10);
  store<u8>(at + 1, 0x30 + (number % 10));
  store<u8>(at + 2, after);
  return at + 3;
}

function putThree(at: usize, number: u32): usize {
  store<u8>(at, 0x30 + number / 100);
  store<u8>(at + 1, 0x30 + ((number / 10) % 10));
  store<u8>(at + 2, 0x30 + (number % 10));
  return at + 3;
}
