/** The project key of a request: where it is in the body, whether it is known, and which project it belongs to. */
import { LRUCache } from 'lru-cache';
import { isFresh, type Clock } from '../../base/clock.ts';
import type { ScannedBatch } from '../batch/scanned-batch.ts';
import { fieldFrom, fieldTo, isNullAt, isStringAt, stringAt, textAt } from '../batch/spans.ts';
import { ApiError } from '../contract/errors.ts';

export interface ProjectKeys {
  /** Throws ApiError: 401 for a malformed or unknown key, 503 if the look-up failed. */
  projectOf(token: string): Promise<number>;
  /** Forgets the keys of a changed or deleted project, so that its old key stops immediately in this process. */
  forget(projectId: number): void;
}

export interface ProjectKeysDeps {
  /** Returns the id of the project with this key, if any. Rejects if the look-up itself fails. */
  readonly findProject: (token: string) => Promise<number | undefined>;
  readonly clock: Clock;
  /** How long a known key is trusted; a rotated key stops working after this time. */
  readonly ttlMs?: number;
  /** How long an unknown key is refused without another look-up. */
  readonly unknownTtlMs?: number;
  readonly entriesMax?: number;
}

interface Entry {
  readonly projectId: number | undefined;
  /** Time of the look-up, ms since the epoch. */
  readonly at: number;
}

const tokenBytesMax = 64;

/** Looks a key up once in a few seconds, regardless of load. Known and unknown keys cannot evict each other. */
export function createProjectKeys(options: ProjectKeysDeps): ProjectKeys {
  const { findProject, clock, ttlMs = 5000, unknownTtlMs = 1000, entriesMax = 10_000 } = options;
  const known = new LRUCache<string, Entry>({ max: entriesMax });
  const unknown = new LRUCache<string, Entry>({ max: entriesMax });
  const pending = new Map<string, Promise<number | undefined>>();

  const keep = (token: string, projectId: number | undefined): void => {
    const [cache, other] = projectId === undefined ? [unknown, known] : [known, unknown];
    other.delete(token);
    cache.set(token, { projectId, at: clock.now() });
  };
  const lookUp = async (token: string): Promise<number | undefined> => {
    try {
      const projectId = await findProject(token);
      keep(token, projectId);
      return projectId;
    } catch (cause) {
      // While the metadata store is unavailable, trusting a key that was valid a moment ago beats losing events.
      const stale = known.get(token)?.projectId;
      if (stale !== undefined) return stale;
      throw unavailable('The project API key could not be looked up; try again.', 5, cause);
    } finally {
      pending.delete(token);
    }
  };

  return {
    projectOf: async (sent) => {
      // A key cached under exactly this text needs no check of its form.
      const hit = known.get(sent);
      if (hit?.projectId !== undefined && isFresh(hit.at, ttlMs, clock.now())) return hit.projectId;
      const token = checkToken(sent);
      const entry = known.get(token) ?? unknown.get(token);
      if (entry !== undefined && isFresh(entry.at, entry.projectId === undefined ? unknownTtlMs : ttlMs, clock.now())) {
        return entry.projectId ?? refuse();
      }
      let found = pending.get(token);
      if (found === undefined) {
        found = lookUp(token);
        pending.set(token, found);
      }
      return (await found) ?? refuse();
    },
    forget: (projectId) => {
      for (const [token, entry] of known) if (entry.projectId === projectId) known.delete(token);
      // A key that was unknown a moment ago may be the new one.
      unknown.clear();
    },
  };
}

function refuse(): never {
  throw new ApiError(
    'authentication_failed',
    'API key is not valid: expected the project API key (phc_…) of a project of this service, got: an unknown one; copy it from the project settings',
    { attr: 'api_key' },
  );
}

/** Returns the key without surrounding white space. Throws 401 with the fault of a malformed key. */
function checkToken(sent: string): string {
  const token = sent.trim();
  const fault = faultOf(token);
  if (fault === undefined) return token;
  throw new ApiError('authentication_failed', `API key is not valid: ${fault}; send the project API key (phc_…)`, {
    attr: 'api_key',
  });
}

function faultOf(token: string): string | undefined {
  if (token === '') return 'empty';
  if (Buffer.byteLength(token) > tokenBytesMax) return 'too_long';
  if (token.includes('\0')) return 'null_byte';
  if (!/^[ -~]+$/.test(token)) return 'not_ascii';
  if (token.startsWith('phx_')) return 'personal_api_key';
  return undefined;
}

/** Creates a 503 error with the time after which a retry makes sense. */
export function unavailable(detail: string, retryAfterSeconds: number, cause?: unknown): ApiError {
  return new ApiError('unavailable', detail, { headers: { 'retry-after': String(retryAfterSeconds) }, cause });
}

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

/**
 * A body up to this size is scanned before its project key is looked up, which takes a few milliseconds. In a larger one the key
 * is searched within this distance of the beginning and the end, where every client library puts it.
 */
export const unknownBodyBytesMax = 256 * 1024;
/** Occurrences of one name that are tried in each window. */
const candidatesMax = 16;
const keyBytesMax = 128;
const names = ['"api_key"', '"token"', '"$token"', '"writeKey"'].map((name) => Buffer.from(name));

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
