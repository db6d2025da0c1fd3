import { exactNumber } from '../../../base/exact-json.ts';

/** A text that is not blank, or a number as text. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? (value.trim() === '' ? undefined : value) : exactNumber(value);
}

export function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host || undefined : undefined;
}
