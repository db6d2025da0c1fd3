import { isObject } from '../../../base/json.ts';
import { type Json } from '../read-values.ts';
import type { EpochUnit } from '../../../base/epoch.ts';
import { anyTime, epochTime, textTime, zoneOption, type Zone } from '../times.ts';
import { FormatOptionsError } from '../format.ts';
import { timePattern } from './time-pattern.ts';
import { refuse, valueRule, type ValueRule } from './value-rule.ts';

/** Reads a value as time: ISO 8601 in UTC, or undefined. */
export type ReadTime = (value: unknown) => string | undefined;

const units: readonly EpochUnit[] = ['s', 'ms', 'us', 'ns'];

/**
 * A value rule with `format` (iso, s, ms, us, ns, or a pattern such as dd.MM.yyyy HH:mm:ss) and `zone` beside it. Without a
 * format both ISO texts and numbers are read. Throws FormatOptionsError.
 */
export function timeRule(rule: unknown, at: string): { readonly value: ValueRule; readonly readTime: ReadTime } {
  const value = valueRule(rule, at, ['format', 'zone']);
  if (!isObject(rule)) return { value, readTime: (found) => anyTime(found) };
  return { value, readTime: readerOf(rule, at) };
}

function readerOf({ format, zone: name }: Json, at: string): ReadTime {
  if (name !== undefined && typeof name !== 'string') refuse(`${at}.zone`, 'the name of a time zone', name);
  const zone = zoneOf(name ?? 'UTC', at);
  if (format === undefined) return (value) => anyTime(value, zone);
  if (typeof format !== 'string' || format === '') refuse(`${at}.format`, 'iso, s, ms, us, ns or a pattern', format);
  if (format === 'iso') return (value) => textTime(value, zone);
  const unit = units.find((each) => each === format);
  if (unit !== undefined) return (value) => epochTime(value, unit, zone);
  return timePattern(format, zone, `${at}.format`);
}

function zoneOf(name: string, at: string): Zone {
  try {
    return zoneOption(`${at}.zone`, name);
  } catch (cause) {
    if (!(cause instanceof FormatOptionsError)) throw cause;
    throw new FormatOptionsError(`mapping: ${cause.message}`, { cause });
  }
}
