import { isoMicros, type Clock } from '../../src/base/clock.ts';
import { loadSettings } from '../../src/server/config/load.ts';
import type { Settings } from '../../src/server/config/settings.ts';
import type { Role } from '../../src/wire/contract/roles.ts';
import type { OidcSignIn } from '../../src/server/sign-in/oidc-sign-in.ts';
import type { ApiRoute } from '../../src/server/http/api-route.ts';
import { createAuth, type Auth } from '../../src/server/http/auth.ts';
import { createRateLimiter, parseRateLimit, type RateWindow } from '../../src/server/http/rate-limit.ts';
import { policiesOf } from '../../src/server/http/policies.ts';
import { buildServer, type ServedApi, type ServerDeps } from '../../src/server/http/server.ts';
import type { Metadata } from '../../src/stores/metadata/database.ts';
import { createOrganization } from '../../src/stores/metadata/organizations.ts';
import { createPersonalApiKey } from '../../src/stores/metadata/personal-api-keys.ts';
import { createProject, type Project } from '../../src/stores/metadata/projects.ts';
import { createSession } from '../../src/stores/metadata/sessions.ts';
import { createUser, type User } from '../../src/stores/metadata/users.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { createMetrics, type Metrics } from '../../src/server/telemetry/metrics.ts';
import { tempMetadata } from './metadata.ts';

type App = ReturnType<typeof buildServer>;

/** Grants everything: `*` does not include erasing. */
export const everyScope: readonly string[] = ['*', 'erasure:write'];

/** A clock that stands still until it is moved. */
export interface TestClock extends Clock {
  advance(ms: number): void;
}

export interface TestApp extends AsyncDisposable {
  readonly app: App;
  readonly db: Metadata;
  readonly auth: Auth;
  readonly clock: TestClock;
  readonly metrics: Metrics;
  readonly user: User;
  readonly project: Project;
  /** Of the same organisation. */
  readonly otherProject: Project;
  /** Of another organisation. */
  readonly foreignProject: Project;
  /** Log lines so far, parsed. */
  readonly logged: readonly Readonly<Record<string, unknown>>[];
  readonly inject: App['inject'];
  /** Requests that the framework had; the others were answered directly. */
  framed(): number;
  /** A new personal key of the user; every scope unless said otherwise. */
  key(scopes?: readonly string[], more?: KeyOptions): Promise<string>;
  /** The Cookie header of a new console session, of the user unless said otherwise. */
  session(userId?: number): Promise<string>;
  /** A user with this role in the same organisation; the same one each time. */
  userOf(role: Role): Promise<User>;
}

export interface KeyOptions {
  readonly projectIds?: readonly number[];
  /** ISO time. */
  readonly expiresAt?: string;
  /** Default: the user. */
  readonly userId?: number;
}

export interface RouteContext {
  readonly auth: Auth;
  readonly clock: TestClock;
}

/** The real server over a real SQLite store in a temp directory: `await using app = await startTestApp((db) => routes({ db }))`. */
export async function startTestApp(
  routes: (db: Metadata, context: RouteContext) => ApiRoute[],
  more: {
    readonly settings?: Partial<Settings>;
    readonly wrongKeyWindows?: readonly RateWindow[];
    readonly oidc?: (db: Metadata, context: RouteContext) => OidcSignIn;
  } & Partial<Pick<ServerDeps, 'health' | 'registerCapture' | 'consoleDir'> & Pick<ServedApi, 'registerPages'>> = {},
): Promise<TestApp> {
  const { settings: changed = {}, wrongKeyWindows = [], registerPages, oidc, ...deps } = more;
  await using cleanup = new AsyncDisposableStack();
  const store = cleanup.use(await tempMetadata());
  const { db } = store;
  const clock = testClock();
  const logged: Record<string, unknown>[] = [];
  const log = createLog('debug', { write: (line: string) => void logged.push(JSON.parse(line)) });
  const metrics = createMetrics();
  const settings = { ...loadSettings({ env: {} }).settings, apiRateLimit: 'off', ...changed };
  const { sessionPolicy } = policiesOf(settings);
  const auth = createAuth({ db, clock, log, sessionPolicy, wrongKeys: createRateLimiter(wrongKeyWindows, clock) });
  const windows = parseRateLimit(settings.apiRateLimit);
  const rateLimiter = windows.length === 0 ? undefined : createRateLimiter(windows, clock);
  const api = {
    routes: routes(db, { auth, clock }),
    rateLimiter,
    oidc: oidc?.(db, { auth, clock }),
    ...(registerPages && { registerPages }),
  };
  // Whether a console has been built here must make no difference to a test that is not about it.
  const consoleDir = 'no console';
  const app = buildServer({ db, clock, log, metrics, settings, auth, api, health: {}, consoleDir, ...deps });
  cleanup.defer(() => app.close());
  let framed = 0;
  app.addHook('onRequest', async () => {
    framed += 1;
  });
  await app.ready();
  const records = await createRecords(db, clock);
  // From here on the caller disposes.
  const owned = cleanup.move();
  return {
    app,
    db,
    auth,
    clock,
    metrics,
    logged,
    ...records,
    inject: app.inject.bind(app) as App['inject'],
    framed: () => framed,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function createRecords(
  db: Metadata,
  clock: Clock,
): Promise<Pick<TestApp, 'user' | 'project' | 'otherProject' | 'foreignProject' | 'key' | 'session' | 'userOf'>> {
  const now = clock.now();
  const own = await createOrganization(db, { name: 'Own' }, now);
  const foreign = await createOrganization(db, { name: 'Foreign' }, now);
  const user = await createUser(
    db,
    { organizationId: own.id, firstName: 'Ada', email: 'ada@example.com', role: 'admin' },
    now,
  );
  const byRole = new Map<Role, User>();
  return {
    user,
    async userOf(role) {
      const input = { organizationId: own.id, firstName: role, email: `${role}@example.com`, role };
      const made = byRole.get(role) ?? (await createUser(db, input, now));
      byRole.set(role, made);
      return made;
    },
    project: await createProject(db, { organizationId: own.id, name: 'First' }, now),
    otherProject: await createProject(db, { organizationId: own.id, name: 'Second' }, now),
    foreignProject: await createProject(db, { organizationId: foreign.id, name: 'Foreign' }, now),
    async key(scopes = everyScope, { projectIds, expiresAt, userId = user.id } = {}) {
      const { value } = await createPersonalApiKey(
        db,
        {
          userId,
          label: 'test',
          scopes,
          scopedProjects: projectIds ?? null,
          expiresAt: expiresAt === undefined ? null : isoMicros(Date.parse(expiresAt)),
        },
        clock.now(),
      );
      return value;
    },
    async session(userId = user.id) {
      const { value } = await createSession(db, { userId, now: clock.now() });
      return `millrace_session=${value}`;
    },
  };
}

function testClock(): TestClock {
  let now = Date.parse('2026-11-20T10:00:00.000Z');
  return {
    now: () => now,
    advance(ms) {
      now += ms;
    },
  };
}
