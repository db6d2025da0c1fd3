import { isObject } from '../../../base/json.ts';
import { numberOf, type Json } from '../read-values.ts';
import type { EpochUnit } from '../../../base/epoch.ts';
import { anyTime, epochTime, textTime, utc, zoneOption, type Zone } from '../times.ts';
import { FormatOptionsError } from '../format.ts';
import { timePattern } from './time-pattern.ts';
import { refuse, valueRule, type ValueRule } from './value-rule.ts';

/** Reads a value as time: ISO 8601 in UTC, or undefined. */
export type ReadTime = (value: unknown) => string | undefined;

/** `form`: what is read, where it is one of the usual ones; ISO 8601 with numbers of any unit, or without them, or numbers of one. */
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

/** Days since the end of 1899, as spreadsheets count them. https://support.microsoft.com/office/datevalue-function */
function excelTime(value: unknown, zone: Zone): string | undefined {
  const days = numberOf(value);
  if (days === undefined || !(days >= excelDays.min && days < excelDays.max)) return undefined;
  return epochTime(Math.round((days - excelEpochDays) * 86_400_000), 'ms', zone);
}

/** Without a format a number may be seconds, but no moment of the first day of 1970 is meant by one. */
function anyTimeButExcel(value: unknown, zone?: Zone): string | undefined {
  return isExcelDate(value) ? undefined : anyTime(value, zone);
}

/** Whether a value that was given without a format is the date of a spreadsheet, such as 45292.5. */
export function isExcelDate(value: unknown): boolean {
  const days = numberOf(value);
  return days !== undefined && days >= excelDays.min && days < excelDays.max;
}

/**
 * A value rule with `format` (iso, s, ms, us, ns, excel, or a pattern such as dd.MM.yyyy HH:mm:ss) and `zone` beside it. Without a
 * format both ISO texts and numbers are read. Throws FormatOptionsError.
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
