import type { WireError } from '../wire/messages.ts';
import { scriptName } from '../wire/script-name.ts';
import { indexOfText, isArray, sliceText, stringify } from './intrinsics.ts';

const messageMax = 2000;
const stackMax = 4000;

/** Describes any thrown value as text, including proxies, throwing getters and endless messages. */
export function describeThrown(thrown: unknown, kind: WireError['kind'], method: string): WireError {
  const [errorName, message] = nameAndMessage(thrown);
  return {
    kind,
    message: sliceText(message, 0, messageMax),
    method,
    errorName: sliceText(errorName, 0, 100),
    stack: isObject(thrown) ? ownStack(textOf(thrown, 'stack')) : '',
    retry: errorName === 'RetryError' || (isObject(thrown) && isRetryError(thrown)),
  };
}

export function fault(kind: WireError['kind'], method: string, message: string): WireError {
  return { kind, message, method, errorName: 'Error', stack: '', retry: false };
}

/** Returns `a number (3)`, for sentences about an unexpected value. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (isArray(value)) return 'an array';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return value === '' ? 'an empty text' : `"${sliceText(value, 0, 100)}"`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return `${value}`;
  return `a ${typeof value}`;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function nameAndMessage(thrown: unknown): readonly [name: string, message: string] {
  if (!isObject(thrown)) return ['Error', typeof thrown === 'string' ? thrown : describeValue(thrown)];
  const name = textOf(thrown, 'name');
  const message = textOf(thrown, 'message');
  if (message !== '') return [name || 'Error', message];
  return [name || 'Error', name !== '' ? `${name} without a message` : `it threw ${asJson(thrown)}`];
}

function asJson(value: object): string {
  try {
    return sliceText(stringify(value) ?? 'a function', 0, messageMax);
  } catch {
    // Circular or deliberately unreadable.
    return 'an object';
  }
}

function textOf(value: object, key: 'name' | 'message' | 'stack'): string {
  try {
    const found: unknown = (value as Record<string, unknown>)[key];
    return typeof found === 'string' ? found : '';
  } catch {
    // A throwing getter provides no text.
    return '';
  }
}

function isRetryError(value: object): boolean {
  const { RetryError } = globalThis as { RetryError?: unknown };
  try {
    return typeof RetryError === 'function' && value instanceof RetryError;
  } catch {
    // A proxy that refuses the check does not count.
    return false;
  }
}

/** Keeps only the plugin's own lines. */
function ownStack(stack: string): string {
  const bounded = sliceText(stack, 0, stackMax * 2);
  let kept = '';
  let from = 0;
  while (from < bounded.length) {
    const found = indexOfText(bounded, '\n', from);
    const end = found < 0 ? bounded.length : found;
    const line = sliceText(bounded, from, end);
    const isFrame = indexOfText(line, '    at ') === 0;
    if (!isFrame || indexOfText(line, `${scriptName}:`) > 0) kept += (kept === '' ? '' : '\n') + line;
    from = end + 1;
  }
  return sliceText(kept, 0, stackMax);
}
