import { scopeCatalogue, scopeCatalogueSchema } from '../../wire/contract/scope-presets.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';

/** What keys and users can be given. */
export function scopeCatalogueRoutes(): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/scopes',
      scope: 'any-key',
      tag: 'Personal API keys',
      summary: 'List the scopes, presets of them, and the roles of users',
      description: 'A key may do what its scopes say, and never more than the role of its user permits.',
      responses: { 200: scopeCatalogueSchema },
      handler: async () => ({ status: 200, body: scopeCatalogue }),
    }),
  ];
}
