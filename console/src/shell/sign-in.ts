import { ApiError, unreachable } from '../api/api-error.ts';

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

/** Ends the session of this browser. */
export async function signOut(): Promise<void> {
  await sendForm('/logout', {});
}

function sendForm(path: string, fields: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(path, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' }).catch(
    (error: unknown) => {
      throw unreachable(error);
    },
  );
}
