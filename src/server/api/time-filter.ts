import { parseTimestamp } from '../../wire/batch/timestamps.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { isoOfMicros } from '../../base/clock.ts';

/** Converts a query time to the format of the metadata store, ISO 8601 UTC with microseconds. Keeps `undefined`. */
export function timeFilter(text: string | undefined, attr: string): string | undefined {
  if (text === undefined) return undefined;
  // An unencoded plus sign arrives as a space.
  const micros = parseTimestamp(text.replace(/ (\d\d:?\d\d)$/, '+$1'));
  if (micros !== undefined && Math.abs(micros) < 8.64e18) {
    const time = isoOfMicros(micros);
    if (/^\d{4}-/.test(time)) return time;
  }
  throw new ApiError('invalid_input', `Expected an ISO 8601 time, e.g. 2026-11-20T10:00:00Z, got: ${text}`, { attr });
}
