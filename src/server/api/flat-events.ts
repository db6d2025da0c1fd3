import { ApiError } from '../../wire/contract/errors.ts';
import type { ApiRoute } from '../http/api-route.ts';
import { findFirstProject } from '../http/auth-queries.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { eventRoutes, type EventRouteDeps } from './events.ts';

export interface FlatEventDeps extends EventRouteDeps {
  readonly db: Metadata;
}

/** `/api/event`, by which PostHog's older scripts read events: those of the project that `@current` means. */
export function flatEventRoutes({ db, ...deps }: FlatEventDeps): ApiRoute[] {
  const routes = eventRoutes(deps).filter(({ path }) => !path.endsWith('/counts'));
  return routes.map((route) => flatRoute(db, route));
}

function flatRoute(db: Metadata, route: ApiRoute): ApiRoute {
  return {
    ...route,
    path: route.path.replace('/api/projects/:project_id/events', '/api/event'),
    summary: `${route.summary} of the project that \`@current\` means`,
    handler: async (request) => {
      const project = await findFirstProject(db, request.principal);
      if (project === undefined) throw new ApiError('not_found', 'Project not found.');
      return route.handler({ ...request, project: () => project });
    },
  };
}
