import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { addOidcAttempt, deleteExpiredOidcAttempts, useOidcAttempt } from '../../stores/metadata/oidc-attempts.ts';
import { signInOidcUser, type OidcRefusal } from '../../stores/metadata/oidc-users.ts';
import { listOrganizations } from '../../stores/metadata/organizations.ts';
import type { OidcSession } from '../../stores/metadata/sessions.ts';
import type { SignInErrorCode } from '../../wire/contract/errors.ts';
import { readAccount, type Account } from './account.ts';
import type { OidcSettings } from './oidc-settings.ts';
import type { Binding, Exchanged, Provider } from './provider.ts';
import { SignInError } from './sign-in-error.ts';

export interface StartedSignIn {
  /** Address at the provider. */
  readonly url: string;
  /** Value of the cookie that identifies the browser. */
  readonly browser: string;
}

export interface FinishedSignIn {
  readonly userId: number;
  readonly oidc: OidcSession;
  /** Path to open. */
  readonly returnTo: string;
}

/** Signs users in with an OpenID Connect provider: authorization code flow with PKCE, state and nonce. */
export interface OidcSignIn {
  readonly name: string;
  /**
   * Starts a sign-in, which takes at most ten minutes.
   * @throws SignInError
   */
  start(request: {
    /** Value of the browser's cookie from an earlier start, so that several tabs can sign in at the same time. */
    readonly browser: string | undefined;
    readonly origin: string;
    readonly returnTo: string;
    readonly selectsAccount: boolean;
  }): Promise<StartedSignIn>;
  /**
   * Finishes a sign-in, once.
   * @param callback the address to which the provider sent the browser
   * @throws SignInError
   */
  finish(request: {
    readonly browser: string | undefined;
    readonly callback: URL;
    readonly requestId: string;
  }): Promise<FinishedSignIn>;
  /**
   * Returns the address that ends the session at the provider, if there is one.
   * @throws SignInError
   */
  endSessionUrl(session: OidcSession, returnTo: string): Promise<string | undefined>;
}

export const callbackPath = '/login/oidc/callback';

export interface OidcSignInDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly provider: Provider;
  /** Called after a user's sessions were ended or permissions changed, so that the change applies immediately. */
  readonly forgetUser: (userId: number) => void;
}

/** The larger ones list groups; the provider then gets the client id alone. */
const idTokenCharsMax = 4_000;

export function createOidcSignIn(settings: OidcSettings, deps: OidcSignInDeps): OidcSignIn {
  const { db, clock, provider } = deps;
  return {
    name: settings.name,
    async start({ browser: known, origin, returnTo, selectsAccount }) {
      const now = clock.now();
      const browser = known ?? newSecret();
      const state = newSecret();
      const redirectUri = origin + callbackPath;
      // First the provider: without it, nothing needs to be stored.
      const url = await provider.authorizationUrl({ ...bindingOf(browser, state), redirectUri, selectsAccount });
      await deleteExpiredOidcAttempts(db, now);
      await addOidcAttempt(db, { state, browser, returnTo }, now);
      return { url, browser };
    },
    async finish({ browser = '', callback, requestId }) {
      const state = callback.searchParams.get('state') ?? '';
      const returnTo = await useOidcAttempt(db, { state, browser }, clock.now());
      if (returnTo === undefined) {
        throw new SignInError(
          'oidc_state_invalid',
          'It was used already, is older than ten minutes, or was started in another browser. Start again in this browser.',
        );
      }
      const exchanged = await provider.exchange(callback, bindingOf(browser, state));
      const account = readAccount(exchanged.claims, settings);
      const userId = await userOf(deps, settings, account, requestId);
      return { userId, oidc: sessionOf(account, exchanged), returnTo };
    },
    async endSessionUrl({ issuer, idToken }, returnTo) {
      // A session of another provider, that was configured before, is unknown to this one.
      if (URL.parse(issuer)?.href !== settings.issuer.href) return undefined;
      return provider.endSessionUrl({ idToken, returnTo });
    },
  };
}

/** Derives nonce and verifier from the secret of the browser, so that the store has neither. */
function bindingOf(browser: string, state: string): Binding {
  const derive = (what: string): string => createHmac('sha256', browser).update(`${what} ${state}`).digest('base64url');
  return { state, nonce: derive('nonce'), codeVerifier: derive('verifier') };
}

function sessionOf({ issuer }: Account, { idToken }: Exchanged): OidcSession {
  return { issuer, idToken: idToken.length > idTokenCharsMax ? undefined : idToken };
}

/** @throws SignInError */
async function userOf(
  { db, clock, forgetUser }: OidcSignInDeps,
  settings: OidcSettings,
  account: Account,
  requestId: string,
): Promise<number> {
  const [organization] = await listOrganizations(db);
  if (organization === undefined) throw new Error('expected the store to have an organisation, got none');
  const request = { organizationId: organization.id, account, role: account.role, requestId, now: clock.now() };
  const result = await db.transaction().execute((tx) => signInOidcUser(tx, request));
  if ('user' in result) {
    forgetUser(result.user.id);
    return result.user.id;
  }
  if (result.userId !== undefined) forgetUser(result.userId);
  const { code, detail } = refusals[result.refusal];
  const reason = result.userId === undefined ? 'no user' : `user ${result.userId}`;
  throw new SignInError(code, detail(settings, account), { reason });
}

interface Refusal {
  readonly code: SignInErrorCode;
  readonly detail: (settings: OidcSettings, account: Account) => string;
}

const refusals: Readonly<Record<OidcRefusal, Refusal>> = {
  no_role: {
    code: 'oidc_no_role',
    detail: (_settings, { role, email }) =>
      role.kind === 'none'
        ? role.detail
        : `No user has the address ${email}. Ask an admin of Millrace to invite you with it, then sign in again.`,
  },
  deactivated: {
    code: 'oidc_user_deactivated',
    detail: () => 'An admin of Millrace has deactivated your user. Ask one of them to activate it again.',
  },
  last_admin: {
    code: 'oidc_last_admin',
    detail: ({ name }) =>
      `Your groups at ${name} no longer make you an admin, but you are the only one. Ask the operator to make another user an admin with ` +
      '"millrace users role", then sign in again.',
  },
  account_conflict: {
    code: 'oidc_account_conflict',
    detail: ({ name }, { email }) =>
      `The user with the address ${email} signs in with another account of ${name}. Ask an admin of Millrace to change or delete that user.`,
  },
};

/** 256 random bits, safe in a URL and in a cookie. */
function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
