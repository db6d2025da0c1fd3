import { Type } from 'typebox';
import { ApiError } from '../../wire/contract/errors.ts';
import { organizationSchema, type OrganizationRecord } from '../../wire/contract/organizations.ts';
import { pageLimitMax } from '../../wire/contract/pagination.ts';
import { apiRoute, type ApiRoute, type Principal } from '../http/api-route.ts';
import { allowedProjects } from '../http/auth-queries.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { getOrganization } from '../../stores/metadata/organizations.ts';
import { listProjects } from '../../stores/metadata/projects.ts';

/** There is one organisation, that of the caller: any other is as if it were not there. */
export function organizationRoutes({ db }: { readonly db: Metadata }): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/organizations/:organization_id',
      scope: 'organization:read',
      tag: 'Users',
      summary: 'The organisation of the caller',
      params: Type.Object({ organization_id: Type.String({ description: 'Its id, or `@current`.' }) }),
      responses: { 200: organizationSchema },
      handler: async ({ principal, params }) => {
        const { organization_id: id } = params;
        if (id !== '@current' && id !== principal.organizationId)
          throw new ApiError('not_found', 'Organization not found.');
        return { status: 200, body: await organizationOf(db, principal) };
      },
    }),
  ];
}

async function organizationOf(db: Metadata, principal: Principal): Promise<OrganizationRecord> {
  const { organizationId, role } = principal;
  const organization = await getOrganization(db, organizationId);
  if (organization === undefined) throw new ApiError('not_found', 'Organization not found.');
  const ids = allowedProjects(principal);
  const { projects } = await listProjects(db, { organizationId, ids, limit: pageLimitMax });
  return {
    id: organization.id,
    name: organization.name,
    created_at: organization.createdAt,
    role,
    membership_level: role === 'admin' ? 8 : 1,
    projects: projects.map(({ id, uuid, name, timezone }) => ({
      id,
      uuid,
      organization: organizationId,
      name,
      timezone,
    })),
  };
}
