import { Type } from 'typebox';
import { orNull } from '../../wire/contract/or-null.ts';
import { roles } from '../../wire/contract/roles.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';
import { findFirstProject } from '../http/auth-queries.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getOrganization } from '../../stores/metadata/organizations.ts';
import { getUser } from '../../stores/metadata/users.ts';

const organizationSchema = Type.Object({ id: Type.String({ format: 'uuid' }), name: Type.String() });
const teamSchema = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: 'uuid' }),
  name: Type.String(),
  api_token: Type.String(),
  timezone: Type.String(),
});
const currentUserSchema = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: 'uuid' }),
  distinct_id: Type.String(),
  first_name: Type.String(),
  email: Type.String(),
  role: Type.Enum([...roles], { description: 'Role of the user.' }),
  date_joined: Type.String({ format: 'date-time' }),
  organization: organizationSchema,
  organizations: Type.Array(organizationSchema),
  team: orNull(teamSchema, 'The project that `@current` refers to.'),
});

export function currentUserRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/users/@me',
      scope: 'user:read',
      tag: 'Users',
      summary: 'Retrieve the current user',
      responses: { 200: currentUserSchema },
      handler: async ({ principal }) => {
        const user = await getUser(db, principal.userId);
        const organization = await getOrganization(db, principal.organizationId);
        if (user === undefined || organization === undefined) throw new ApiError('not_found', 'Not found.');
        const team = await findFirstProject(db, principal);
        const shown = { id: organization.id, name: organization.name };
        return {
          status: 200,
          body: {
            id: user.id,
            uuid: user.uuid,
            distinct_id: user.uuid,
            first_name: user.firstName,
            email: user.email,
            role: user.role,
            date_joined: user.createdAt,
            organization: shown,
            organizations: [shown],
            team: team
              ? { id: team.id, uuid: team.uuid, name: team.name, api_token: team.apiToken, timezone: team.timezone }
              : null,
          },
        };
      },
    }),
  ];
}
