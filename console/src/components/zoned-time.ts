import { formatTime } from './format-time.ts';

const dayMs = 86_400_000;

/** As a date-time field takes it: `2026-11-22T16:45` by the clocks of the zone, with seconds where it has some. Empty: no time. */
export function toZonedText(iso: string, timezone: string): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return '';
  return formatTime(new Date(ms).toISOString(), timezone).replace(' ', 'T').replace(/:00$/, '');
}

/**
 * ISO 8601 UTC of what a date-time field shows; undefined: it is empty. A time that comes twice when clocks go back is the first of the
 * two; one that is skipped is counted from before the change.
 */
export function fromZonedText(text: string, timezone: string): string | undefined {
  const localMs = Date.parse(`${text}Z`);
  if (text === '' || Number.isNaN(localMs)) return undefined;
  const before = offsetAt(localMs - dayMs, timezone);
  const after = offsetAt(localMs + dayMs, timezone);
  const fits = [before, after].find((offset) => offsetAt(localMs - offset, timezone) === offset);
  return new Date(localMs - (fits ?? before)).toISOString();
}

/** How far the zone's clocks are ahead of UTC, in ms. */
function offsetAt(ms: number, timezone: string): number {
  const shown = formatTime(new Date(ms).toISOString(), timezone).replace(' ', 'T');
  return Date.parse(`${shown}Z`) - Math.floor(ms / 1000) * 1000;
}
