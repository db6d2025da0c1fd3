import { isObject } from '../../../base/json.ts';
import { type Json } from '../read-values.ts';
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

/**
 * A value rule with `format` (iso, s, ms, us, ns, or a pattern such as dd.MM.yyyy HH:mm:ss) and `zone` beside it. Without a
 * format both ISO texts and numbers are read. Throws FormatOptionsError.
 */
export function timeRule(rule: unknown, at: string): TimeRule {
  const value = valueRule(rule, at, ['format', 'zone']);
  if (!isObject(rule)) return { value, readTime: (found) => anyTime(found), form: { zone: utc, is: 'any' } };
  return { value, ...readerOf(rule, at) };
}

function readerOf({ format, zone: name }: Json, at: string): Omit<TimeRule, 'value'> {
  if (name !== undefined && typeof name !== 'string') refuse(`${at}.zone`, 'the name of a time zone', name);
  const zone = zoneOf(name ?? 'UTC', at);
  if (format === undefined) return { readTime: (value) => anyTime(value, zone), form: { zone, is: 'any' } };
  if (typeof format !== 'string' || format === '') refuse(`${at}.format`, 'iso, s, ms, us, ns or a pattern', format);
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
