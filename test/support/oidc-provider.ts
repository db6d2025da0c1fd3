import { createServer, type Server } from 'node:http';
import { Provider, type Context, type Grant } from 'oidc-provider';
import { freePort } from './server.ts';

/** Claims of an account, without `sub`. */
export interface ProviderAccount {
  readonly email: string;
  readonly email_verified: boolean;
  readonly name: string;
  readonly groups: readonly string[];
}

/** A real OpenID Connect provider on loopback. Its accounts sign in with any password. */
export interface OidcProvider extends AsyncDisposable {
  readonly issuer: string;
  /** By login; tests change them. */
  readonly accounts: Map<string, ProviderAccount>;
  /** How far its clock is off while it issues tokens. */
  tokenClockOffMs: number;
  /** Whether claims are in the ID token, as most companies' providers do, instead of the user info. */
  claimsInIdToken: boolean;
  /** Stops listening; the address stays free. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Requests so far, as `POST /token`. */
  readonly requests: readonly string[];
}

export const oidcClient = { id: 'millrace', secret: 'secret-of-the-client-0123456789' };

/** @param siteUrl of the service */
export async function startOidcProvider(siteUrl: string): Promise<OidcProvider> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const accounts = new Map<string, ProviderAccount>();
  const requests: string[] = [];
  let server: Server | undefined;
  const started: OidcProvider = {
    issuer,
    accounts,
    requests,
    tokenClockOffMs: 0,
    claimsInIdToken: true,
    async start() {
      server = createServer((request, response) => {
        requests.push(`${request.method} ${request.url?.replace(/\?.*/s, '')}`);
        const setRight = request.url === '/token' ? setClockOff(started.tokenClockOffMs) : () => {};
        response.once('close', setRight);
        handle(request, response);
      });
      await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve));
    },
    async stop() {
      server?.closeAllConnections();
      await new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())));
      server = undefined;
    },
    [Symbol.asyncDispose]: () => started.stop(),
  };
  const handle = new Provider(issuer, configurationOf(siteUrl, started)).callback();
  await started.start();
  return started;
}

/** The provider, which runs in this process, takes the time from here. Returns a function that undoes it. */
function setClockOff(ms: number): () => void {
  const { now } = Date;
  Date.now = () => now() + ms;
  return () => {
    Date.now = now;
  };
}

function configurationOf(siteUrl: string, provider: OidcProvider): object {
  return {
    clients: [
      {
        client_id: oidcClient.id,
        client_secret: oidcClient.secret,
        redirect_uris: [`${siteUrl}/login/oidc/callback`],
        post_logout_redirect_uris: [`${siteUrl}/`],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'email', 'profile', 'groups'],
    findAccount: (_context: unknown, sub: string) => {
      const account = provider.accounts.get(sub);
      return account === undefined
        ? undefined
        : { accountId: sub, claims: (use: string) => claimsFor(use, sub, account, provider) };
    },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    ttl: { IdToken: 3600, Session: 3600, Grant: 3600, Interaction: 600, AccessToken: 600 },
    loadExistingGrant: grantAll,
    cookies: { keys: ['key of the cookies of the tests'] },
  };
}

function claimsFor(use: string, sub: string, account: ProviderAccount, { claimsInIdToken }: OidcProvider): object {
  return use === 'id_token' && !claimsInIdToken ? { sub } : { sub, ...account };
}

/** Without a page that requests consent, as for applications of a company. */
async function grantAll({ oidc }: Context): Promise<Grant> {
  const grant = new oidc.provider.Grant({ accountId: oidc.session?.accountId, clientId: oidc.client?.clientId });
  grant.addOIDCScope('openid email profile groups');
  await grant.save();
  return grant;
}
