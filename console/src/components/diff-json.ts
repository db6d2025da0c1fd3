import { isJsonObject, sameJson, scalarText } from './json-value.ts';

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly depth: number;
  /** `"name": `, or empty for array items. */
  readonly key: string;
  readonly text: string;
}

type Kind = DiffLine['kind'];

/** Compares two JSON values line by line, with sorted keys. Lines only in the first are removed, lines only in the second added. */
export function diffJson(before: unknown, after: unknown): DiffLine[] {
  return diffValue(before, after, '', 0);
}

function diffValue(before: unknown, after: unknown, key: string, depth: number): DiffLine[] {
  if (sameJson(before, after)) return linesOf(before, 'same', key, depth);
  if (isJsonObject(before) && isJsonObject(after))
    return framed('{', '}', diffObject(before, after, depth + 1), key, depth);
  if (Array.isArray(before) && Array.isArray(after))
    return framed('[', ']', diffArray(before, after, depth + 1), key, depth);
  return [...linesOf(before, 'removed', key, depth), ...linesOf(after, 'added', key, depth)];
}

function diffObject(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  depth: number,
): DiffLine[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const key = keyText(name);
    if (!Object.hasOwn(after, name)) return linesOf(before[name], 'removed', key, depth);
    if (!Object.hasOwn(before, name)) return linesOf(after[name], 'added', key, depth);
    return diffValue(before[name], after[name], key, depth);
  });
}

function diffArray(before: readonly unknown[], after: readonly unknown[], depth: number): DiffLine[] {
  const length = Math.max(before.length, after.length);
  return Array.from({ length }, (_, index) => index).flatMap((index) => {
    if (index >= after.length) return linesOf(before[index], 'removed', '', depth);
    if (index >= before.length) return linesOf(after[index], 'added', '', depth);
    return diffValue(before[index], after[index], '', depth);
  });
}

function framed(open: string, close: string, inner: readonly DiffLine[], key: string, depth: number): DiffLine[] {
  const line = (text: string, name: string): DiffLine => ({ kind: 'same', depth, key: name, text });
  return [line(open, key), ...inner, line(close, '')];
}

/** Returns the lines of one value. */
export function linesOf(value: unknown, kind: Kind, key = '', depth = 0): DiffLine[] {
  const line = (text: string, name: string): DiffLine => ({ kind, depth, key: name, text });
  if (Array.isArray(value)) {
    if (value.length === 0) return [line('[]', key)];
    return [line('[', key), ...value.flatMap((item) => linesOf(item, kind, '', depth + 1)), line(']', '')];
  }
  if (isJsonObject(value)) {
    const names = Object.keys(value).sort();
    if (names.length === 0) return [line('{}', key)];
    const inner = names.flatMap((name) => linesOf(value[name], kind, keyText(name), depth + 1));
    return [line('{', key), ...inner, line('}', '')];
  }
  return [line(scalarText(value), key)];
}

function keyText(name: string): string {
  return `${JSON.stringify(name)}: `;
}
