import { formatTime } from './format-time.ts';

const dayMs = 86_400_000;

/**
 * Formats a time for a date-time field as local time of the zone: `2026-11-22T16:45`, with seconds unless they are 0. Returns an empty
 * string for an invalid time.
 */
export function toZonedText(iso: string, timezone: string): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return '';
  return formatTime(new Date(ms).toISOString(), timezone).replace(' ', 'T').replace(/:00$/, '');
}

/**
 * Converts the value of a date-time field to ISO 8601 UTC, or `undefined` if it is empty. A local time that occurs twice is the
 * first of the two; a skipped one uses the offset before the change.
 */
export function fromZonedText(text: string, timezone: string): string | undefined {
  const localMs = Date.parse(`${text}Z`);
  if (text === '' || Number.isNaN(localMs)) return undefined;
  const before = offsetAt(localMs - dayMs, timezone);
  const after = offsetAt(localMs + dayMs, timezone);
  const fits = [before, after].find((offset) => offsetAt(localMs - offset, timezone) === offset);
  return new Date(localMs - (fits ?? before)).toISOString();
}

/** Returns the UTC offset of the zone in ms. */
function offsetAt(ms: number, timezone: string): number {
  const shown = formatTime(new Date(ms).toISOString(), timezone).replace(' ', 'T');
  return Date.parse(`${shown}Z`) - Math.floor(ms / 1000) * 1000;
}
