import { Type } from 'typebox';
import { isoMicros, type Clock } from '../../base/clock.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import {
  personalApiKeyCreateSchema,
  personalApiKeyParamsSchema,
  personalApiKeySchema,
  personalApiKeyWithValueSchema,
  type PersonalApiKeyRecord,
} from '../../wire/contract/keys.ts';
import { isGrantedScope } from '../../wire/contract/scopes.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiReply, type ApiRequest, type ApiRoute, type Principal } from '../http/api-route.ts';
import { issueKey } from '../http/issue-key.ts';
import { checkExpiry, latestExpiry } from '../http/key-expiry.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import {
  deletePersonalApiKey,
  getPersonalApiKey,
  listPersonalApiKeys,
  rollPersonalApiKey,
  type IssuedKey,
  type PersonalApiKey,
} from '../../stores/metadata/personal-api-keys.ts';
import { recordKey } from '../../stores/metadata/record-key.ts';
import { listProjects } from '../../stores/metadata/projects.ts';
import { checkNotMoreThanOwn } from './key-rights.ts';

export interface PersonalApiKeyRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Called after a key was rolled or deleted, so that the old value stops working immediately. */
  readonly forgetKey: (keyId: string) => void;
  /** Days within which new keys must expire; `undefined` for no limit. */
  readonly keyDaysMax?: number | undefined;
}

const keys = '/api/personal_api_keys';
const tag = 'Personal API keys';

export function personalApiKeyRoutes(deps: PersonalApiKeyRouteDeps): ApiRoute[] {
  return [...readRoutes(deps), createRoute(deps), ...changeRoutes(deps)];
}

function readRoutes({ db }: PersonalApiKeyRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: keys,
      scope: 'personal_api_key:read',
      tag,
      summary: 'List your personal API keys, newest first',
      description: 'Returns a list without pagination: a user has at most ten keys.',
      responses: { 200: Type.Array(personalApiKeySchema) },
      handler: async ({ principal }) => ({
        status: 200,
        body: (await listPersonalApiKeys(db, principal.userId)).map(toKeyRecord),
      }),
    }),
    apiRoute({
      method: 'GET',
      path: `${keys}/@current`,
      scope: 'any-key',
      tag,
      summary: 'Retrieve the key of this request',
      responses: { 200: personalApiKeySchema },
      handler: async ({ principal }) => {
        if (principal.kind !== 'key') throw new ApiError('not_found', 'Not found.');
        return { status: 200, body: toKeyRecord(await ownKey(db, principal, principal.keyId)) };
      },
    }),
    apiRoute({
      method: 'GET',
      path: `${keys}/:id`,
      scope: 'personal_api_key:read',
      tag,
      summary: 'Retrieve one of your personal API keys',
      params: personalApiKeyParamsSchema,
      responses: { 200: personalApiKeySchema },
      handler: async ({ principal, params }) => ({
        status: 200,
        body: toKeyRecord(await ownKey(db, principal, params.id)),
      }),
    }),
  ];
}

function createRoute({ db, clock, keyDaysMax }: PersonalApiKeyRouteDeps): ApiRoute {
  return apiRoute({
    method: 'POST',
    path: keys,
    scope: 'personal_api_key:write',
    role: 'viewer',
    tag,
    summary: 'Create a personal API key',
    description:
      'Returns the value once. A key can only create keys with at most its own rights. `key_days_max` of GET /api/scopes is the longest ' +
      'time until the expiry.',
    body: personalApiKeyCreateSchema,
    namesUnknownFields: true,
    responses: { 201: personalApiKeyWithValueSchema },
    handler: async (request) => {
      const { principal, body } = request;
      const wanted = {
        label: body.label,
        scopes: [...new Set(body.scopes)],
        scopedProjects: body.scoped_teams?.length ? [...new Set(body.scoped_teams)] : null,
        expiresAt: body.expires_at ? futureTime(body.expires_at, clock.now()) : null,
      };
      checkExpiry(wanted.expiresAt, keyDaysMax, clock.now());
      checkScopesKnown(wanted.scopes);
      await checkNotMoreThanOwn(db, principal, wanted);
      await checkProjectsExist(db, principal, wanted.scopedProjects);
      const input = { userId: principal.userId, ...wanted };
      return { status: 201, body: withValue(await issueKey(db, actorOf(request), input, clock.now())) };
    },
  });
}

function changeRoutes(deps: PersonalApiKeyRouteDeps): ApiRoute[] {
  const { db, clock, forgetKey, keyDaysMax } = deps;
  return [
    apiRoute({
      method: 'POST',
      path: `${keys}/:id/roll`,
      scope: 'personal_api_key:write',
      role: 'viewer',
      tag,
      summary: 'Roll a personal API key',
      description:
        'Revokes the old value immediately and returns the new one once. The expiry stays, unless it is later than keys may expire now.',
      params: personalApiKeyParamsSchema,
      body: Type.Object({}),
      namesUnknownFields: true,
      responses: { 200: personalApiKeyWithValueSchema },
      handler: async (request) => {
        const { principal, params } = request;
        const before = await ownKey(db, principal, params.id);
        // Rolling reveals the key: the same rule as for creating one.
        await checkNotMoreThanOwn(db, principal, before);
        const now = clock.now();
        const expiresAt = earlierExpiry(before.expiresAt, latestExpiry(keyDaysMax, now));
        const rolled = await db.transaction().execute(async (tx) => {
          const issued = orNotFound(
            await rollPersonalApiKey(tx, { userId: principal.userId, id: params.id, expiresAt }, now),
          );
          await recordKey(tx, actorOf(request), { activity: 'rolled', before, key: issued.key, now });
          return issued;
        });
        forgetKey(params.id);
        return { status: 200, body: withValue(rolled) };
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: `${keys}/:id`,
      scope: 'personal_api_key:write',
      role: 'viewer',
      tag,
      summary: 'Delete a personal API key',
      description: 'Deletes the key. A key can only delete itself and keys with at most its own rights.',
      params: personalApiKeyParamsSchema,
      responses: { 204: null },
      handler: async (request) => deleteKey(deps, request, { userId: request.principal.userId, id: request.params.id }),
    }),
  ];
}

/** @throws ApiError not_found, or permission_denied for a key with more rights than the requesting one */
export async function deleteKey(
  { db, clock, forgetKey }: PersonalApiKeyRouteDeps,
  request: Pick<ApiRequest, 'principal' | 'requestId'>,
  { userId, id }: { readonly userId: number; readonly id: string },
): Promise<ApiReply> {
  const key = orNotFound(await getPersonalApiKey(db, userId, id));
  await checkNotMoreThanOwn(db, request.principal, key, 'delete');
  await db.transaction().execute(async (tx) => {
    if (!(await deletePersonalApiKey(tx, userId, id))) throw new ApiError('not_found', 'Not found.');
    await recordKey(tx, actorOf(request), { activity: 'deleted', key, now: clock.now() });
  });
  forgetKey(id);
  return { status: 204 };
}

async function ownKey(db: Metadata, principal: Principal, id: string): Promise<PersonalApiKey> {
  return orNotFound(await getPersonalApiKey(db, principal.userId, id));
}

function earlierExpiry(expiresAt: string | null, latest: string | undefined): string | null {
  if (latest === undefined) return expiresAt;
  return expiresAt === null || expiresAt > latest ? latest : expiresAt;
}

function checkScopesKnown(scopes: readonly string[]): void {
  const unknown = scopes.find((scope) => !isGrantedScope(scope));
  if (unknown !== undefined) throw new ApiError('invalid_input', `Invalid scope: ${unknown}`, { attr: 'scopes' });
}

async function checkProjectsExist(db: Metadata, principal: Principal, ids: readonly number[] | null): Promise<void> {
  if (ids === null) return;
  const { projects } = await listProjects(db, { organizationId: principal.organizationId, ids });
  const known = new Set(projects.map((project) => project.id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) {
    throw new ApiError('does_not_exist', `Invalid pk "${unknown}" - object does not exist.`, { attr: 'scoped_teams' });
  }
}

/** A time without a zone is in UTC. */
function futureTime(given: string, now: number): string {
  const time = Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(given) ? given : `${given}Z`);
  if (time > now) return isoMicros(time);
  throw new ApiError('invalid_input', `Expected a time in the future, got: ${isoMicros(time)}`, { attr: 'expires_at' });
}

function withValue({ key, value }: IssuedKey): PersonalApiKeyRecord & { value: string } {
  return { ...toKeyRecord(key), value };
}

export function toKeyRecord(key: PersonalApiKey): PersonalApiKeyRecord {
  return {
    id: key.id,
    label: key.label,
    mask_value: key.maskValue,
    scopes: [...key.scopes],
    scoped_teams: key.scopedProjects === null ? null : [...key.scopedProjects],
    scoped_organizations: null,
    user_id: key.userId,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    last_used_at: key.lastUsedAt,
    last_rolled_at: key.lastRolledAt,
  };
}
