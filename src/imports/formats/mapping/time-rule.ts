import { isObject } from '../../../base/json.ts';
import { numberOf, type Json } from '../read-values.ts';
import type { EpochUnit } from '../../../base/epoch.ts';
import {
  anyTime,
  epochTime,
  textTime,
  utc,
  zoneOption,
  type Zone,
  isoSeconds,
  wallClock,
  offsetMinutes,
} from '../times.ts';
import { FormatOptionsError } from '../format.ts';
import { refuse, valueRule, type ValueRule } from './value-rule.ts';

/** Reads a value as a time in ISO 8601, UTC, or returns `undefined`. */
export type ReadTime = (value: unknown) => string | undefined;

/** `form`: the expected form if it is a common one: ISO 8601 with numbers of any unit, ISO 8601 alone, or numbers of one unit. */
export interface TimeRule {
  readonly value: ValueRule;
  readonly readTime: ReadTime;
  readonly form?: { readonly zone: Zone; readonly is: 'any' | 'iso' | EpochUnit };
}

const units: readonly EpochUnit[] = ['s', 'ms', 'us', 'ns'];

/** Day 25,569 of a spreadsheet is 1 January 1970; its fraction is the time of day. */
const excelEpochDays = 25_569;
/** Of the years 1982 to 2119; as seconds these are the first day of 1970. */
const excelDays = { min: 30_000, max: 80_400 };

/** Converts days since the end of 1899, as in spreadsheets. https://support.microsoft.com/office/datevalue-function */
function excelTime(value: unknown, zone: Zone): string | undefined {
  const days = numberOf(value);
  if (days === undefined || !(days >= excelDays.min && days < excelDays.max)) return undefined;
  return epochTime(Math.round((days - excelEpochDays) * 86_400_000), 'ms', zone);
}

/** Without a format a number may be seconds, but none within the first day of 1970. */
function anyTimeButExcel(value: unknown, zone?: Zone): string | undefined {
  return isExcelDate(value) ? undefined : anyTime(value, zone);
}

/** Whether a value without a format is a spreadsheet date such as 45292.5. */
export function isExcelDate(value: unknown): boolean {
  const days = numberOf(value);
  return days !== undefined && days >= excelDays.min && days < excelDays.max;
}

/**
 * Parses a value rule with the additional members `format` (iso, s, ms, us, ns, excel, or a pattern such as dd.MM.yyyy HH:mm:ss)
 * and `zone`. Without a format both ISO texts and numbers are read. Throws FormatOptionsError.
 */
export function timeRule(rule: unknown, at: string): TimeRule {
  const value = valueRule(rule, at, ['format', 'zone']);
  if (!isObject(rule)) return { value, readTime: (found) => anyTimeButExcel(found), form: { zone: utc, is: 'any' } };
  return { value, ...readerOf(rule, at) };
}

function readerOf({ format, zone: name }: Json, at: string): Omit<TimeRule, 'value'> {
  if (name !== undefined && typeof name !== 'string') refuse(`${at}.zone`, 'the name of a time zone', name);
  const zone = zoneOf(name ?? 'UTC', at);
  if (format === undefined) return { readTime: (value) => anyTimeButExcel(value, zone), form: { zone, is: 'any' } };
  if (typeof format !== 'string' || format === '')
    refuse(`${at}.format`, 'iso, s, ms, us, ns, excel or a pattern', format);
  if (format === 'excel') return { readTime: (value) => excelTime(value, zone) };
  if (format === 'iso') return { readTime: (value) => textTime(value, zone), form: { zone, is: format } };
  const unit = units.find((each) => each === format);
  if (unit !== undefined) return { readTime: (value) => epochTime(value, unit, zone), form: { zone, is: unit } };
  return { readTime: timePattern(format, zone, `${at}.format`) };
}

function zoneOf(name: string, at: string): Zone {
  try {
    return zoneOption(`${at}.zone`, name);
  } catch (cause) {
    if (!(cause instanceof FormatOptionsError)) throw cause;
    throw new FormatOptionsError(`mapping: ${cause.message}`, { cause });
  }
}

type Part = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'fraction' | 'half' | 'offset';

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Letters of a pattern, longest first. */
const tokens: readonly (readonly [token: string, part: Part, source: string])[] = [
  ['yyyy', 'year', String.raw`(\d{4})`],
  ['MMM', 'month', '([A-Za-z]{3})'],
  ['MM', 'month', String.raw`(\d\d)`],
  ['M', 'month', String.raw`(\d\d?)`],
  ['dd', 'day', String.raw`(\d\d)`],
  ['d', 'day', String.raw`(\d\d?)`],
  ['HH', 'hour', String.raw`(\d\d)`],
  ['H', 'hour', String.raw`(\d\d?)`],
  ['hh', 'hour', String.raw`(\d\d)`],
  ['h', 'hour', String.raw`(\d\d?)`],
  ['mm', 'minute', String.raw`(\d\d)`],
  ['m', 'minute', String.raw`(\d\d?)`],
  ['ss', 'second', String.raw`(\d\d)`],
  ['s', 'second', String.raw`(\d\d?)`],
  ['a', 'half', '([AaPp][Mm])'],
  ['X', 'offset', String.raw`(Z|UTC|[+-]\d\d(?::?\d\d)?)`],
];
const wanted: readonly Part[] = ['year', 'month', 'day'];
const textMax = 100;

/**
 * Compiles a pattern: yyyy, M, MM, MMM (Jan), d, dd, H, HH, h, hh with a (AM, PM), m, mm, s, ss, S… (digits below the second), X
 * (Z or an offset). Text in single quotes and characters other than letters are literal. Throws FormatOptionsError for a pattern
 * without year, month and day, or with other letters.
 */
export function timePattern(pattern: string, zone: Zone, at: string): (value: unknown) => string | undefined {
  const { source, parts } = compile(pattern, at);
  const missing = wanted.find((part) => !parts.includes(part));
  if (missing !== undefined) refuse(at, `a pattern with a ${missing}, such as yyyy-MM-dd HH:mm:ss`, pattern);
  const regex = new RegExp(`^\\s*${source}\\s*$`);
  return (value) => {
    const text = typeof value === 'number' ? String(value) : value;
    if (typeof text !== 'string' || text.length > textMax) return undefined;
    const match = regex.exec(text);
    return match === null ? undefined : timeOf(match, parts, zone);
  };
}

function compile(pattern: string, at: string): { readonly source: string; readonly parts: readonly Part[] } {
  const parts: Part[] = [];
  let source = '';
  let rest = pattern;
  while (rest !== '') {
    const quoted = /^'([^']*)'/.exec(rest);
    const fraction = /^S+/.exec(rest);
    const token = tokens.find(([letters]) => rest.startsWith(letters));
    let used = 1;
    if (quoted !== null) {
      source += literal(quoted[1] ?? '');
      used = quoted[0].length;
    } else if (fraction !== null) {
      source += String.raw`(\d{1,9})`;
      parts.push('fraction');
      used = fraction[0].length;
    } else if (token !== undefined) {
      source += token[2];
      parts.push(token[1]);
      used = token[0].length;
    } else if (/^[A-Za-z']/.test(rest)) {
      refuse(at, 'letters such as in yyyy-MM-dd HH:mm:ss, other text in single quotes', rest.slice(0, 20));
    } else source += literal(rest.charAt(0));
    rest = rest.slice(used);
  }
  const twice = parts.find((part, index) => parts.indexOf(part) !== index);
  if (twice !== undefined) refuse(at, `one ${twice}`, pattern);
  return { source, parts };
}

function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}

function timeOf(match: RegExpExecArray, parts: readonly Part[], zone: Zone): string | undefined {
  const found: Partial<Record<Part, string>> = {};
  for (const [index, part] of parts.entries()) found[part] = match[index + 1] ?? '';
  const { year = '', month = '', day = '', hour = '0', minute = '0', second = '0', fraction = '', half } = found;
  const monthNumber = /^\d/.test(month) ? Number(month) : monthNames.indexOf(month.toLowerCase()) + 1;
  const hours = half === undefined ? Number(hour) : hourOfHalf(Number(hour), half);
  if (hours === undefined) return undefined;
  const localMs = wallClock(Number(year), monthNumber, Number(day), hours, Number(minute), Number(second));
  if (localMs === undefined) return undefined;
  if (found.offset === undefined) return isoSeconds(zone(localMs), fraction);
  const minutes = offsetMinutes(found.offset);
  return minutes === undefined ? undefined : isoSeconds(localMs - minutes * 60_000, fraction);
}

/** 12 AM is midnight, 12 PM noon. */
function hourOfHalf(hour: number, half: string): number | undefined {
  if (hour < 1 || hour > 12) return undefined;
  return (hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0);
}
