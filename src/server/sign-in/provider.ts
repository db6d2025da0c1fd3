import type * as OpenIdClient from 'openid-client';
import type { ClientAuth, Configuration } from 'openid-client';
import type { Clock } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import type { OutboundFetch } from '../../plugins/outbound/outbound.ts';
import { claimAt, type Claims } from './account.ts';
import type { OidcSettings } from './oidc-settings.ts';
import { describeFault } from './provider-fault.ts';
import { providerFetch } from './provider-fetch.ts';

/** The library, which is loaded with the first sign-in: most processes never need it. */
type Client = typeof OpenIdClient;

/** What binds the answer of the provider to the sign-in that a browser started. */
export interface Binding {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

export interface Exchanged {
  /** Of the ID token, completed with the user info where email or groups are missing. */
  readonly claims: Claims;
  readonly idToken: string;
}

/** The OpenID Connect provider. Its discovery document is read with the first sign-in, and again after an hour. */
export interface Provider {
  /** @throws SignInError */
  authorizationUrl(
    request: Binding & { readonly redirectUri: string; readonly selectsAccount: boolean },
  ): Promise<string>;
  /**
   * Exchanges the code for an ID token and checks it.
   * @param callback the address to which the provider sent the browser
   * @throws SignInError
   */
  exchange(callback: URL, binding: Binding): Promise<Exchanged>;
  /** Returns the address that ends the session at the provider; `undefined` if the provider has none. @throws SignInError */
  endSessionUrl(parameters: {
    readonly idToken: string | undefined;
    readonly returnTo: string;
  }): Promise<string | undefined>;
}

/** Longest use of a discovery document. */
const configurationMs = hourMs;
const attemptsMax = 2;

export function createProvider(
  settings: OidcSettings,
  { fetch, clock }: { readonly fetch: OutboundFetch; readonly clock: Clock },
): Provider {
  let known: { readonly loading: Promise<Configuration>; readonly at: number } | undefined;
  const configuration = async (): Promise<Configuration> => {
    if (known === undefined || clock.now() - known.at > configurationMs) {
      known = { loading: discover(settings, fetch), at: clock.now() };
    }
    const { loading } = known;
    try {
      return await loading;
    } catch (error) {
      // The next sign-in tries again.
      if (known?.loading === loading) known = undefined;
      throw error;
    }
  };
  const explained = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    try {
      return await work(await import('openid-client'));
    } catch (error) {
      throw describeFault(error, settings.name);
    }
  };
  return {
    authorizationUrl: ({ state, nonce, codeVerifier, redirectUri, selectsAccount }) =>
      explained(async (client) => {
        const config = await configuration();
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: redirectUri,
          scope: settings.scope,
          state,
          nonce,
          code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
          ...(selectsAccount && { prompt: promptOf(config) }),
        });
        return url.href;
      }),
    exchange: (callback, { state, nonce, codeVerifier }) =>
      explained(async (client) => {
        const config = await configuration();
        const tokens = await client.authorizationCodeGrant(config, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: codeVerifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims() ?? {};
        const { access_token: accessToken, id_token: idToken = '' } = tokens;
        return { claims: await completed(client, config, { claims, accessToken }, settings), idToken };
      }),
    endSessionUrl: ({ idToken, returnTo }) =>
      explained(async (client) => {
        const config = await configuration();
        if (config.serverMetadata().end_session_endpoint === undefined) return undefined;
        const url = client.buildEndSessionUrl(config, {
          post_logout_redirect_uri: returnTo,
          ...(idToken !== undefined && { id_token_hint: idToken }),
        });
        return url.href;
      }),
  };
}

/** Reads the discovery document, and once more if that fails. */
async function discover(settings: OidcSettings, fetch: OutboundFetch): Promise<Configuration> {
  const client = await import('openid-client');
  const execute = [client.enableNonRepudiationChecks];
  if (settings.issuer.protocol === 'http:') execute.push(client.allowInsecureRequests);
  const options = { [client.customFetch]: providerFetch(fetch), execute };
  const authentication = clientAuthOf(client, settings);
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.discovery(settings.issuer, settings.clientId, undefined, authentication, options);
    } catch (error) {
      if (attempt === attemptsMax) throw error;
    }
  }
}

/** Sends the secret in the header, which is the default of the protocol, unless the provider only takes it in the body. */
function clientAuthOf(client: Client, { clientSecret }: OidcSettings): ClientAuth {
  if (clientSecret === '') return client.None();
  const basic = client.ClientSecretBasic(clientSecret);
  const post = client.ClientSecretPost(clientSecret);
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isBasic = methods.includes('client_secret_basic') || !methods.includes('client_secret_post');
    (isBasic ? basic : post)(server, ...rest);
  };
}

/**
 * Lets the user choose another account: without it, the provider would return the refused one again. Every provider must support
 * `login`, except that Google only documents `select_account`.
 */
function promptOf(config: Configuration): string {
  const { issuer, prompt_values_supported: supported } = config.serverMetadata();
  const isListed = Array.isArray(supported) && supported.includes('select_account');
  return isListed || issuer === 'https://accounts.google.com' ? 'select_account' : 'login';
}

async function completed(
  client: Client,
  config: Configuration,
  { claims, accessToken }: { readonly claims: Claims; readonly accessToken: string },
  { groupsClaim, emailVerifiedClaim, roleOfGroup }: OidcSettings,
): Promise<Claims> {
  const needed = ['email', emailVerifiedClaim, ...(roleOfGroup.size > 0 ? [groupsClaim] : [])];
  const isComplete = needed.every((claim) => claimAt(claims, claim) !== undefined);
  if (isComplete || config.serverMetadata().userinfo_endpoint === undefined) return claims;
  const info = await client.fetchUserInfo(config, accessToken, String(claims['sub']));
  return { ...info, ...claims };
}
