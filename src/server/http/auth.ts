import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { keyHash } from '../../base/ids.ts';
import { minuteMs } from '../../base/time.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { hasScope } from '../../wire/contract/scopes.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getProject } from '../../stores/metadata/projects.ts';
import type { Log } from '../telemetry/log.ts';
import type { ApiRoute, Principal, ProjectRef } from './api-route.ts';
import type { Credentials } from './credentials.ts';
import { createPrincipalUsage } from './principal-usage.ts';
import {
  allowedProjects,
  findFirstProject,
  findKey,
  findSessionPrincipal,
  type KnownPrincipal,
} from './auth-queries.ts';
import { createRateLimiter, throttled, type RateLimiter, type RateWindow } from './rate-limit.ts';
import { createTtlCache } from './ttl-cache.ts';

const cacheMs = 4_000;
const cacheMax = 10_000;
/** Of one address. A person mistypes less often, and a program with a wrong key learns nothing from more answers. */
export const defaultWrongKeyWindows: readonly RateWindow[] = [{ limit: 20, ms: minuteMs }];
// One way to write each id; up to what both stores hold in the column.
const projectIdForm = /^[1-9]\d{0,8}$/;

/**
 * Who asks, and what they may see. What was read is remembered for up to 5 s, so that a busy key costs no query;
 * the `forget` functions make a change count at once in this process.
 */
export interface Auth {
  /**
   * @param address whom wrong keys are counted for
   * @throws ApiError not_authenticated, authentication_failed, throttled
   */
  identify(credentials: Credentials | undefined, address: string): Promise<Principal>;
  /**
   * The project that a path names: an integer id or `@current`.
   * @throws ApiError not_found, also for a project that the principal may not see
   */
  project(principal: Principal, id: string): Promise<ProjectRef>;
  /** Also the sessions that it opened. */
  forgetKey(keyId: string): void;
  forgetProject(projectId: number): void;
  forgetSession(cookie: string): void;
  /** Keys and sessions of the user: after a change of role, or an end of sessions. */
  forgetUser(userId: number): void;
  /** Writes the times of use that are still in memory. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

type FindPrincipal = (db: Metadata, secret: string, now: number) => Promise<KnownPrincipal | undefined>;

export interface AuthDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly log: Log;
  /** Of wrong keys per address. Default: 20 a minute, of this process. */
  readonly wrongKeys?: RateLimiter;
}

export function createAuth(deps: AuthDeps): Auth {
  const { db, clock, log, wrongKeys = createRateLimiter(defaultWrongKeyWindows, clock) } = deps;
  const principals = createTtlCache<KnownPrincipal>({ clock, ttlMs: cacheMs, max: cacheMax });
  const projects = createTtlCache<ProjectRef>({ clock, ttlMs: cacheMs, max: cacheMax });
  const usage = createPrincipalUsage({ db, clock, log });
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
        const session = await known(credentials.cookie, findSessionPrincipal);
        if (session?.principal.kind !== 'session') throw notAuthenticated();
        usage.used(session.principal, session.lastUsedAt);
        return session.principal;
      }
      const key = await known(credentials.key, findKey);
      if (key?.principal.kind !== 'key') {
        // Only wrong keys are counted and refused: a right one gets in although others behind the same address try wrong ones.
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
  if (needed === 'public' || needed === 'any-key' || principal.kind !== 'key') return;
  if (!hasScope(principal.scopes, needed)) {
    throw new ApiError('permission_denied', `API key missing required scope '${needed}'`);
  }
}

function maySee(principal: Principal, project: ProjectRef): boolean {
  if (project.organizationId !== principal.organizationId) return false;
  const allowed = allowedProjects(principal);
  return allowed === null || allowed.includes(project.id);
}

function notAuthenticated(): ApiError {
  return new ApiError('not_authenticated', 'Authentication credentials were not provided.');
}

/** The look-up is by hash already; comparing in constant time keeps an index that matches loosely from mattering. */
function sameHash(stored: string, computed: string): boolean {
  const left = Buffer.from(stored);
  const right = Buffer.from(computed);
  return left.length === right.length && timingSafeEqual(left, right);
}
