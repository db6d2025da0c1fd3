import { existsSync } from 'node:fs';
import { systemClock } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { migrate } from '../../stores/metadata/migrate.ts';
import { firstAdmin } from '../../stores/metadata/users.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { currentUserRoutes } from '../api/current-user.ts';
import { personalApiKeyRoutes } from '../api/personal-api-keys.ts';
import { projectLimitRoutes } from '../api/project-limits.ts';
import { projectRoutes } from '../api/projects.ts';
import { userRoutes } from '../api/users.ts';
import type { Settings } from '../config/settings.ts';
import { policiesOf } from '../http/policies.ts';
import { answerRoute } from '../http/answer-route.ts';
import type { Principal } from '../http/api-route.ts';
import { createAuth } from '../http/auth.ts';
import { createLog } from '../telemetry/log.ts';
import { limitDefaultsOf, type LimitSettings } from './project-limit-defaults.ts';
import { metadataFile, openMetadata } from './stores.ts';

/** The API of keys, projects and users on a metadata store, called in this process: no server and no network. */
export interface StoreApi extends AsyncDisposable {
  /**
   * Answers with the body of a successful response.
   * @param path with its query
   * @throws ApiError
   */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
}

/**
 * Opens the metadata store, migrates it, and serves its API with the rights of the operator. Returns `undefined` when there is no store
 * or no admin in it yet. Works beside a running service, which notices changes of keys within seconds.
 *
 * @param origin where links to the service lead, without a trailing slash
 * @throws SchemaVersionError
 */
export async function openStoreApi(
  settings: LimitSettings &
    Pick<Settings, 'dataDir' | 'databaseUrl' | 'sessionHoursMax' | 'sessionIdleMinutes' | 'keyDaysMax'>,
  origin: string,
): Promise<StoreApi | undefined> {
  if (settings.databaseUrl === '' && !existsSync(metadataFile(settings.dataDir))) return undefined;
  await using parts = new AsyncDisposableStack();
  const log = createLog('warn');
  const { db, dialect } = await openMetadata(settings, log);
  parts.defer(() => db.destroy());
  await migrate(db, dialect);
  const owner = await firstAdmin(db);
  if (owner === undefined) return undefined;
  const auth = parts.adopt(createAuth({ db, clock: systemClock, log }), (each) => each.close());
  const { id: userId, organizationId } = owner;
  const principal: Principal = { kind: 'operator', userId, organizationId, role: 'admin' };
  const caches = { forgetProject: auth.forgetProject, forgetKey: auth.forgetKey, forgetUser: auth.forgetUser };
  const deps = { db, clock: systemClock, ...caches, ...policiesOf(settings), limitDefaults: limitDefaultsOf(settings) };
  const access = { auth, rateLimiter: undefined, siteUrl: origin, stopping: new AbortController().signal };
  const routes = [
    ...currentUserRoutes(deps),
    ...userRoutes(deps),
    ...personalApiKeyRoutes(deps),
    ...projectRoutes(deps),
    ...projectLimitRoutes(deps),
  ].map((route) => ({ route, form: formOf(route.path), answer: answerRoute(route, access).answer }));
  const held = parts.move();

  const call: StoreApi['call'] = async (method, url, body) => {
    const { pathname, searchParams } = new URL(url, origin);
    for (const { form, route, answer } of routes) {
      const match = method === route.method ? form.exec(pathname) : null;
      if (match === null) continue;
      const params = { ...match.groups };
      const { project_id: named } = params;
      const project = named === undefined ? undefined : await auth.project(principal, named);
      const { host, protocol } = new URL(origin);
      const query = Object.fromEntries(searchParams);
      const head = { id: newId(), method, url, ip: '127.0.0.1', host, protocol: protocol.slice(0, -1), headers: {} };
      const given = body === undefined ? {} : { body: { value: body, source: 'json', files: new Map() } as const };
      const access = { principal, project, credentials: undefined };
      return (await answer({ ...head, params, query }, access, given)).body;
    }
    throw new ApiError('not_found', 'Endpoint not found.');
  };
  return { call, [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** With or without a trailing slash; parameters are groups. */
function formOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}/?$`);
}
