import type { SignInMethods } from '../../../src/wire/contract/sign-in.ts';
import { ApiError, errorOf, unreachable } from '../api/api-error.ts';
import { apiQuery } from '../api/queries.ts';
import { urlOf } from '../api/request.ts';

/**
 * Starts a session with a personal API key. The service responds with a redirect that sets the cookie.
 * @throws ApiError when the key is refused or the service does not respond
 */
export async function signIn(key: string): Promise<void> {
  const response = await sendForm('/login', { key });
  if (response.type === 'opaqueredirect') return;
  const detail = 'Sign in with a valid personal API key that has scope *, access to all projects and no expiry.';
  throw new ApiError(response.status, { code: 'authentication_failed', detail });
}

/**
 * Ends the session of this browser.
 * @returns the address that ends the session at the provider, if one opened it
 */
export async function signOut(): Promise<string | undefined> {
  const response = await sendForm('/logout', {});
  if (response.type === 'opaqueredirect') return undefined;
  if (!response.ok) throw await errorOf(response);
  const { end_session_url: url } = (await response.json()) as { readonly end_session_url: string | null };
  return url ?? undefined;
}

function sendForm(path: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  const headers = { accept: 'application/json' };
  return fetch(path, { method: 'POST', headers, body: new URLSearchParams(fields), redirect: 'manual' }).catch(
    (error: unknown) => {
      throw unreachable(error);
    },
  );
}

export const signInMethodsQuery = apiQuery<SignInMethods>('/api/sign_in');

/** Returns the address that signs in with the provider and comes back to `returnTo`, a path of the console. */
export function providerUrl(path: string, returnTo: string): string {
  return urlOf(path, { return_to: returnTo });
}
