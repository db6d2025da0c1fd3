import { ApiError, unreachable } from '../api/api-error.ts';

/**
 * Starts a session with a personal key. The service answers a form with a redirect, which sets the cookie.
 * @throws ApiError when the key is refused or nobody answers
 */
export async function signIn(key: string): Promise<void> {
  const response = await sendForm('/login', { key });
  if (response.type === 'opaqueredirect') return;
  const detail =
    'Signing in takes a valid personal API key with scope *, without a limit to projects and without an end.';
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
