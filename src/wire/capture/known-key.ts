import { ApiError } from '../contract/errors.ts';
import type { ProjectKeys } from './project-key.ts';

/**
 * A body up to this size is scanned before its project key is looked up, which takes a few milliseconds. In a larger one the key
 * is searched within this distance of the beginning and the end, where every client library puts it.
 */
export const unknownBodyBytesMax = 256 * 1024;
/** Occurrences of one name that are tried in each window. */
const candidatesMax = 16;
const keyBytesMax = 128;
const names = ['"api_key"', '"token"', '"$token"'].map((name) => Buffer.from(name));

/**
 * Refuses a large body without a known project key before the expensive work on it begins. It only searches the bytes for a
 * known key; the scanner decides later which key counts. Throws ApiError 401, or 503 when no key can be looked up.
 */
export async function requireKnownKey(json: Buffer, projects: Pick<ProjectKeys, 'projectOf'>): Promise<void> {
  if (json.length <= unknownBodyBytesMax) return;
  let refusal: ApiError | undefined;
  for (const candidate of candidatesOf(json)) {
    try {
      await projects.projectOf(candidate);
      return;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      refusal = error;
    }
  }
  throw refusal ?? noKeyFound();
}

function noKeyFound(): ApiError {
  return new ApiError(
    'not_authenticated',
    'event submitted without an api_key: expected the project API key (phc_…) in the first or the last 256 KiB of a large body, got: none',
    { attr: 'api_key' },
  );
}

function candidatesOf(json: Buffer): ReadonlySet<string> {
  const start = json.subarray(0, unknownBodyBytesMax);
  const end = json.subarray(json.length - unknownBodyBytesMax);
  const found = new Set<string>();
  for (const name of names) {
    collect(found, start, name, (from) => start.indexOf(name, from + 1), start.indexOf(name));
    const before = (from: number): number => (from === 0 ? -1 : end.lastIndexOf(name, from - 1));
    collect(found, end, name, before, end.lastIndexOf(name));
  }
  return found;
}

function collect(found: Set<string>, json: Buffer, name: Buffer, next: (from: number) => number, first: number): void {
  let at = first;
  for (let seen = 0; at >= 0 && seen < candidatesMax; seen++) {
    const text = json.toString('latin1', at + name.length, at + name.length + keyBytesMax);
    const value = /^\s{0,8}:\s{0,8}"([^"\\]+)"/.exec(text)?.[1];
    if (value !== undefined) found.add(value);
    at = next(at);
  }
}
