import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';

/** One difference between two JSON values. */
export interface Difference {
  /** JSON Pointer (RFC 6901): `/properties/$browser`; empty for the whole value. */
  readonly path: string;
  readonly op: 'add' | 'remove' | 'replace';
  /** Only with remove and replace. */
  readonly before?: JsonValue;
  /** Only with add and replace. */
  readonly after?: JsonValue;
}

/**
 * Returns the differences that turn `before` into `after` when applied in order: objects by key (in any order), arrays by index.
 * Removed elements are listed from the end, so that each path is valid when it is applied.
 */
export function diffJson(before: JsonValue, after: JsonValue, path = ''): Difference[] {
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after, path);
  if (isObject(before) && isObject(after)) return diffObjects(before, after, path);
  return before === after ? [] : [{ path, op: 'replace', before, after }];
}

function diffObjects(before: JsonObject, after: JsonObject, path: string): Difference[] {
  const found: Difference[] = [];
  for (const [key, was] of Object.entries(before)) {
    const at = `${path}/${escaped(key)}`;
    const is = Object.hasOwn(after, key) ? after[key] : undefined;
    if (is === undefined) found.push({ path: at, op: 'remove', before: was });
    else found.push(...diffJson(was, is, at));
  }
  for (const [key, is] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) found.push({ path: `${path}/${escaped(key)}`, op: 'add', after: is });
  }
  return found;
}

function diffArrays(before: readonly JsonValue[], after: readonly JsonValue[], path: string): Difference[] {
  const both = Math.min(before.length, after.length);
  const found = before.slice(0, both).flatMap((was, i) => diffJson(was, after[i] ?? null, `${path}/${i}`));
  for (let i = before.length - 1; i >= both; i--) {
    found.push({ path: `${path}/${i}`, op: 'remove', before: before[i] ?? null });
  }
  after.slice(both).forEach((is, i) => found.push({ path: `${path}/${both + i}`, op: 'add', after: is }));
  return found;
}

function escaped(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
