import { Type } from 'typebox';
import type { Clock } from '../../base/clock.ts';
import { personalApiKeyParamsSchema, personalApiKeySchema } from '../../wire/contract/keys.ts';
import { userParamsSchema } from '../../wire/contract/users.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { listPersonalApiKeys } from '../../stores/metadata/personal-api-keys.ts';
import { deleteKey, toKeyRecord } from './personal-api-keys.ts';
import { userOf } from './users.ts';

export interface UserKeyRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Called after a key was deleted, so that it stops at once. */
  readonly forgetKey: (keyId: string) => void;
}

const path = '/api/users/:user_id/personal_api_keys';
const tag = 'Personal API keys';

/** Personal keys of every user, for admins: seen and revoked, never made or read. */
export function userKeyRoutes(deps: UserKeyRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path,
      scope: 'personal_api_key:read',
      role: 'admin',
      tag,
      summary: 'List the personal API keys of a user, newest first',
      params: userParamsSchema,
      responses: { 200: Type.Array(personalApiKeySchema) },
      handler: async ({ principal, params }) => {
        const user = await userOf(deps.db, principal.organizationId, params.user_id);
        return { status: 200, body: (await listPersonalApiKeys(deps.db, user.id)).map(toKeyRecord) };
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: `${path}/:id`,
      scope: 'personal_api_key:write',
      role: 'admin',
      tag,
      summary: 'Revoke a personal API key of a user',
      description: 'It stops at once. A key can only revoke keys that may do no more than itself.',
      params: Type.Object({ ...userParamsSchema.properties, ...personalApiKeyParamsSchema.properties }),
      responses: { 204: null },
      handler: async (request) => {
        const { principal, params } = request;
        const user = await userOf(deps.db, principal.organizationId, params.user_id);
        return deleteKey(deps, request, { userId: user.id, id: params.id });
      },
    }),
  ];
}
