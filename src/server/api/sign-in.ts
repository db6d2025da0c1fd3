import { signInMethodsSchema, signInPath } from '../../wire/contract/sign-in.ts';
import { apiRoute, type ApiRoute } from '../http/api-route.ts';

/** Route of the sign-in page, which has no session yet. */
export function signInRoutes({ oidcName }: { readonly oidcName: string | undefined }): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/sign_in',
      scope: 'public',
      tag: 'Sessions',
      summary: 'List the ways to sign in to the console',
      description: 'Returns what is set up in addition to one-time links and personal API keys.',
      responses: { 200: signInMethodsSchema },
      handler: async () => ({
        status: 200,
        body: { oidc: oidcName === undefined ? null : { name: oidcName, path: signInPath } },
      }),
    }),
  ];
}
