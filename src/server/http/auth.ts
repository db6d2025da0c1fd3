import { timingSafeEqual } from 'node:crypto';
import { isFresh, isoMicros, type Clock } from '../../base/clock.ts';
import { keyHash } from '../../base/ids.ts';
import { minuteMs, hourMs } from '../../base/time.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { hasScope } from '../../wire/contract/scopes.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getProject } from '../../stores/metadata/projects.ts';
import type { Log } from '../telemetry/log.ts';
import type { ApiRoute, Principal, ProjectRef } from './api-route.ts';
import type { Credentials } from './credentials.ts';
import {
  allowedProjects,
  findFirstProject,
  findKey,
  findSessionPrincipal,
  scopesOf,
  type KnownPrincipal,
} from './auth-queries.ts';
import { createRateLimiter, throttled, type RateLimiter, type RateWindow } from './rate-limit.ts';
import { LRUCache } from 'lru-cache';
import { touchKeys } from '../../stores/metadata/personal-api-keys.ts';
import { defaultSessionPolicy, touchSessions, type SessionPolicy } from '../../stores/metadata/sessions.ts';

const cacheMs = 4_000;
const cacheMax = 10_000;
/** Per address. Users mistype less often, and a program with a wrong key learns nothing from more responses. */
export const defaultWrongKeyWindows: readonly RateWindow[] = [{ limit: 20, ms: minuteMs }];
// One spelling per id, up to the maximum of the column in both stores.
const projectIdForm = /^[1-9]\d{0,8}$/;

/**
 * Authenticates callers. Results are cached for up to 5 s, so that a busy key costs no query; the `forget` functions make a change
 * effective immediately in this process.
 */
export interface Auth {
  /**
   * @param address for counting wrong keys
   * @throws ApiError not_authenticated, authentication_failed, throttled
   */
  identify(credentials: Credentials | undefined, address: string): Promise<Principal>;
  /**
   * Returns the project in a path: an integer id or `@current`.
   * @throws ApiError not_found, also for a project that the principal cannot access
   */
  project(principal: Principal, id: string): Promise<ProjectRef>;
  /** Also forgets the sessions that it opened. */
  forgetKey(keyId: string): void;
  forgetProject(projectId: number): void;
  forgetSession(cookie: string): void;
  /** Forgets keys and sessions of the user, after a change of role or an end of sessions. */
  forgetUser(userId: number): void;
  /** Writes buffered times of use. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

type FindPrincipal = (db: Metadata, secret: string, now: number) => Promise<KnownPrincipal | undefined>;

export interface AuthDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: sessions of 14 days. */
  readonly sessionPolicy?: SessionPolicy;
  /** Limits wrong keys per address. Default: 20 a minute in this process. */
  readonly wrongKeys?: RateLimiter;
}

export function createAuth(deps: AuthDeps): Auth {
  const { db, clock, log, sessionPolicy = defaultSessionPolicy } = deps;
  const { wrongKeys = createRateLimiter(defaultWrongKeyWindows, clock) } = deps;
  const principals = createTtlCache<KnownPrincipal>({ clock, ttlMs: cacheMs, max: cacheMax });
  const projects = createTtlCache<ProjectRef>({ clock, ttlMs: cacheMs, max: cacheMax });
  const usage = createPrincipalUsage({ db, clock, log, sessionPolicy });
  const findOwnSession: FindPrincipal = (store, cookie, now) => findSessionPrincipal(store, cookie, now, sessionPolicy);
  const findSame = async (find: FindPrincipal, secret: string, hash: string): Promise<KnownPrincipal | undefined> => {
    const found = await find(db, secret, clock.now());
    return found !== undefined && sameHash(found.hash, hash) ? found : undefined;
  };
  const known = async (secret: string, find: FindPrincipal): Promise<KnownPrincipal | undefined> => {
    const hash = keyHash(secret);
    const found = principals.get(hash) ?? (await principals.through(hash, () => findSame(find, secret, hash)));
    return found !== undefined && clock.now() < found.expiresAt ? found : undefined;
  };
  const findProject = async (principal: Principal, id: string): Promise<ProjectRef | undefined> => {
    if (id === '@current') {
      const audience = `@${principal.organizationId}:${allowedProjects(principal)?.join() ?? '*'}`;
      return projects.through(audience, () => findFirstProject(db, principal));
    }
    return projectIdForm.test(id) ? projects.through(id, () => getProject(db, Number(id))) : undefined;
  };
  return {
    async identify(credentials, address) {
      if (credentials === undefined) throw notAuthenticated();
      if (credentials.kind === 'session') {
        const session = await known(credentials.cookie, findOwnSession);
        if (session?.principal.kind !== 'session') throw notAuthenticated();
        if (credentials.isUnattended !== true) usage.used(session.principal, session.lastUsedAt);
        return session.principal;
      }
      const key = await known(credentials.key, findKey);
      if (key?.principal.kind !== 'key') {
        // Only wrong keys are counted and refused: a valid one works although others behind the same address try wrong ones.
        const trial = wrongKeys.take(address);
        if (!trial.allowed) throw throttled(trial);
        const detail = `Personal API key found in request ${credentials.place} is invalid.`;
        throw new ApiError('authentication_failed', detail);
      }
      usage.used(key.principal, key.lastUsedAt);
      return key.principal;
    },
    async project(principal, id) {
      const found = await findProject(principal, id);
      if (found === undefined || !maySee(principal, found)) throw new ApiError('not_found', 'Project not found.');
      return found;
    },
    forgetKey: (keyId) => principals.delete((entry) => entry.keyId === keyId),
    forgetProject: (projectId) => projects.delete(({ id }) => id === projectId),
    forgetSession(cookie) {
      const hash = keyHash(cookie);
      principals.delete((entry) => entry.hash === hash);
    },
    forgetUser: (userId) => principals.delete(({ principal }) => principal.userId === userId),
    flush: () => usage.flush(),
    close: () => usage.close(),
  };
}

/** @throws ApiError permission_denied naming the scope */
export function checkScope(principal: Principal, needed: ApiRoute['scope']): void {
  if (needed === 'public' || needed === 'any-key') return;
  const scopes = scopesOf(principal);
  if (scopes === null || hasScope(scopes, needed)) return;
  throw new ApiError(
    'permission_denied',
    principal.kind === 'key'
      ? `API key missing required scope '${needed}'`
      : `Session missing required scope '${needed}': a personal API key without it opened the session, or created its link. ` +
          'Sign in with a key that has it, or with a link of "npx millrace login" on the machine of the service.',
  );
}

function maySee(principal: Principal, project: ProjectRef): boolean {
  if (project.organizationId !== principal.organizationId) return false;
  const allowed = allowedProjects(principal);
  return allowed === null || allowed.includes(project.id);
}

function notAuthenticated(): ApiError {
  return new ApiError('not_authenticated', 'Authentication credentials were not provided.');
}

/** The lookup is by hash already; constant-time comparison protects against an index that matches loosely. */
function sameHash(stored: string, computed: string): boolean {
  const left = Buffer.from(stored);
  const right = Buffer.from(computed);
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Caches values for a few seconds, at most `max` entries. */
interface TtlCache<Value> {
  get(key: string): Value | undefined;
  /** Returns the cached value or the result of `load`; `undefined` is not cached. A removal during the load wins. */
  through(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined>;
  delete(matches: (value: Value) => boolean): void;
}

export function createTtlCache<Value>(options: {
  readonly clock: Clock;
  readonly ttlMs: number;
  readonly max: number;
}): TtlCache<Value> {
  const entries = new LRUCache<string, { readonly value: Value; readonly at: number }>({ max: options.max });
  let removals = 0;
  const get = (key: string): Value | undefined => {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    if (isFresh(entry.at, options.ttlMs, options.clock.now())) return entry.value;
    entries.delete(key);
    return undefined;
  };
  return {
    get,
    async through(key, load) {
      const cached = get(key);
      if (cached !== undefined) return cached;
      const removalsBefore = removals;
      const value = await load();
      if (value === undefined || removals !== removalsBefore) return value;
      entries.set(key, { value, at: options.clock.now() });
      return value;
    },
    delete(matches) {
      removals += 1;
      for (const [key, entry] of entries) if (matches(entry.value)) entries.delete(key);
    },
  };
}

/** Precision of the last use. Users look through sessions to find one that should not exist; a limit on idle time needs more. */
const keysNotedMs = hourMs;
const sessionsNotedMs = 5 * minuteMs;

/** Records when keys and sessions were used, in the background. */
interface PrincipalUsage {
  /** @param lastUsedAt as stored; null: never */
  used(principal: Principal, lastUsedAt: string | null): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

function createPrincipalUsage(deps: {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessionPolicy: SessionPolicy;
}): PrincipalUsage {
  const { db, clock, log, sessionPolicy } = deps;
  const onError = (err: unknown): void => log.warn({ err }, 'failed to record last use of keys; retrying on next use');
  const keys = createKeyUsage({ clock, everyMs: keysNotedMs, write: (usedAt) => touchKeys(db, usedAt), onError });
  const sessions = createKeyUsage({
    clock,
    everyMs: Math.min(sessionsNotedMs, (sessionPolicy.idleMs ?? Infinity) / 10),
    write: (usedAt) => touchSessions(db, usedAt),
    onError,
  });
  return {
    used(principal, lastUsedAt) {
      if (principal.kind === 'key') keys.used(principal.keyId, lastUsedAt);
      else if (principal.kind === 'session') sessions.used(principal.sessionId, lastUsedAt);
    },
    async flush() {
      await keys.flush();
      await sessions.flush();
    },
    async close() {
      await keys.close();
      await sessions.close();
    },
  };
}

const flushMs = 10_000;
const keysMax = 10_000;

/** Collects when keys (or sessions) were used, and writes it in batches: at most once in `everyMs` per key. */
interface KeyUsage {
  /** @param lastUsedAt as stored; null: never */
  used(keyId: string, lastUsedAt: string | null): void;
  flush(): Promise<void>;
  /** Writes what is still buffered and stops the timer. */
  close(): Promise<void>;
}

function createKeyUsage(options: {
  readonly clock: Clock;
  readonly everyMs: number;
  readonly write: (usedAt: ReadonlyMap<string, string>) => Promise<void>;
  readonly onError: (error: unknown) => void;
}): KeyUsage {
  const { everyMs } = options;
  const lastNoted = new LRUCache<string, number>({ max: keysMax });
  let pending = new Map<string, string>();
  const flush = async (): Promise<void> => {
    if (pending.size === 0) return;
    const batch = pending;
    pending = new Map();
    try {
      await options.write(batch);
    } catch (error) {
      // A lost time of use is no reason to fail a request; the next use notes it again.
      for (const keyId of batch.keys()) lastNoted.delete(keyId);
      options.onError(error);
    }
  };
  const timer = setInterval(() => void flush(), flushMs);
  timer.unref();
  return {
    used(keyId, lastUsedAt) {
      const now = options.clock.now();
      const noted = lastNoted.get(keyId) ?? (lastUsedAt === null ? Number.NEGATIVE_INFINITY : Date.parse(lastUsedAt));
      if (now - noted < everyMs) return;
      lastNoted.set(keyId, now);
      pending.set(keyId, isoMicros(now));
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
