import { ApiError } from '../contract/errors.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo, isNullAt, isStringAt, stringAt, textAt } from '../batch/spans.ts';

/**
 * Returns the project key of a body: that of the batch root if present, otherwise the one key that its events agree on (events
 * without a key adopt it). Throws ApiError 401.
 */
export function tokenOf(scan: ScannedBatch): string {
  if (scan.token !== undefined && scan.token !== 'null') return scan.token;
  let token: string | undefined;
  let bytes: Buffer | undefined;
  for (let i = 0; i < scan.count; i++) {
    const from = fieldFrom(scan, i, 'token');
    if (from < 0 || isNullAt(scan.json, from)) continue;
    const to = fieldTo(scan, i, 'token');
    const here = scan.json.subarray(from, to);
    // Equal bytes are the same key, so usually only the first event is decoded.
    if (bytes !== undefined && bytes.equals(here)) continue;
    const text = isStringAt(scan.json, from) ? stringAt(scan.json, from, to) : textAt(scan.json, from, to);
    if (token !== undefined && token.trim() !== text.trim()) {
      throw new ApiError(
        'authentication_failed',
        'batch submitted with inconsistent api_key values: expected one project API key per request, got: several',
        { attr: 'api_key' },
      );
    }
    token = text;
    bytes = here;
  }
  if (token !== undefined) return token;
  throw new ApiError(
    'not_authenticated',
    'event submitted without an api_key: expected the project API key (phc_…) in "api_key" of the body, got: none',
    { attr: 'api_key' },
  );
}
