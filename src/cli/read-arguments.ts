import { readFileSync } from 'node:fs';
import { parseExactValues } from '../base/exact-json.ts';
import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';
import { CommandError } from './exit-codes.ts';

/** Conversions of command-line texts. Errors: usage, with the option, what was expected and what was given. */

/** Collects a repeatable option. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Splits `key=value`. */
export function pairOf(option: string, text: string): { readonly key: string; readonly value: string } {
  const at = text.indexOf('=');
  if (at > 0) return { key: text.slice(0, at), value: text.slice(at + 1) };
  // Only the length is shown: the text may be a misplaced secret.
  throw new CommandError('usage', `${option}: expected key=value, got ${text.length} characters without =`);
}

/** Splits `key=value` pairs; `key=@file` reads the value from a file. */
export function pairsOf(option: string, pairs: readonly string[]): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (const pair of pairs) {
    const { key, value } = pairOf(option, pair);
    if (found.has(key)) throw new CommandError('usage', `${option}: expected ${key} once`);
    found.set(key, textOrFile(option, value));
  }
  return Object.fromEntries(found);
}

/** Returns the text, or for `@file` the content of the file. */
export function textOrFile(option: string, value: string): string {
  return value.startsWith('@') ? textOf(option, value.slice(1)).replace(/\r?\n$/, '') : value;
}

export function textOf(option: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? 'unreadable';
    throw new CommandError('usage', `${option}: cannot read ${path} (${reason})`, { cause });
  }
}

/** Parses a JSON object, given as text or as `@file`. JSON.stringify writes numbers beyond JavaScript's precision unchanged. */
export function jsonOf(option: string, text: string): JsonObject {
  if (text.startsWith('@')) return jsonObjectIn(option, text.slice(1));
  return parseObject(option, text, 'such as {"key":"value"}, or @FILE with one');
}

/** Reads the JSON object in a file. */
export function jsonObjectIn(option: string, path: string): JsonObject {
  return parseObject(option, textOf(option, path), `in ${path}`);
}

function parseObject(option: string, text: string, where: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseExactValues(text);
  } catch (cause) {
    const message = `${option}: expected a JSON object ${where}; ${(cause as Error).message}`;
    throw new CommandError('usage', message, { cause });
  }
  if (isObject(value)) return value;
  throw new CommandError('usage', `${option}: expected a JSON object ${where}`);
}

/** Parses `1%`, `0.5 %`, `0.01` or `0` as a share from 0 to 1. A bare 1 is ambiguous and refused. */
export function shareOf(option: string, text: string): number {
  const percent = /^(\d{1,3}(?:\.\d+)?)\s*%$/.exec(text.trim());
  const share =
    percent === null ? Number(/^0(\.\d+)?$/.exec(text.trim())?.[0] ?? Number.NaN) : Number(percent[1]) / 100;
  if (share >= 0 && share <= 1) return share;
  throw new CommandError('usage', `${option}: expected a share such as 1% or 0.01, got: ${text}`);
}

/** Parses a whole number of at least `least`. */
export function countOf(option: string, text: string, least: number): number {
  if (/^\d{1,12}$/.test(text) && Number(text) >= least) return Number(text);
  throw new CommandError('usage', `${option}: expected a whole number of at least ${least}, got: ${text}`);
}

/** Converts a day (its start in UTC) or a time to ISO 8601 UTC. A time without a zone is UTC. */
export function timeOf(option: string, text: string): string {
  const shape = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  if (shape !== null) {
    const [day = '', clock] = [text.slice(0, 10), shape[1]];
    const zoned =
      clock === undefined ? `${day}T00:00:00Z` : `${day}T${clock.slice(1)}${shape[4] === undefined ? 'Z' : ''}`;
    const at = new Date(zoned);
    // JavaScript would convert 2024-02-30 to a day in March.
    const isDay = new Date(`${day}T00:00:00Z`);
    if (!Number.isNaN(at.getTime()) && isDay.toJSON()?.startsWith(day) === true) return at.toISOString();
  }
  throw new CommandError(
    'usage',
    `${option}: expected a day such as 2024-01-31 or a time such as 2024-01-31T12:00:00Z, got: ${text}`,
  );
}
