import { isoMicros } from '../../base/clock.ts';
import { keyHash } from '../../base/ids.ts';
import { minuteMs } from '../../base/time.ts';
import type { Queries } from './queries.ts';

/** Time for signing in at the provider, including a second factor. */
export const oidcAttemptMs = 10 * minuteMs;

export interface OidcAttempt {
  /** Secret of the sign-in, which the provider returns. */
  readonly state: string;
  /** Secret of the browser that started it. */
  readonly browser: string;
}

/** Records a sign-in that a browser starts. Only hashes of the secrets are stored. */
export async function addOidcAttempt(
  db: Queries,
  { state, browser, returnTo }: OidcAttempt & { readonly returnTo: string },
  now: number,
): Promise<void> {
  await db
    .insertInto('oidc_attempts')
    .values({
      state_hash: keyHash(state),
      browser_hash: keyHash(browser),
      return_to: returnTo,
      created_at: isoMicros(now),
      expires_at: isoMicros(now + oidcAttemptMs),
    })
    .execute();
}

/** Uses the sign-in and returns the path to open; undefined if it is unknown, used, expired or of another browser. */
export async function useOidcAttempt(
  db: Queries,
  { state, browser }: OidcAttempt,
  now: number,
): Promise<string | undefined> {
  const row = await db
    .deleteFrom('oidc_attempts')
    .where('state_hash', '=', keyHash(state))
    .where('browser_hash', '=', keyHash(browser))
    .where('expires_at', '>', isoMicros(now))
    .returning('return_to')
    .executeTakeFirst();
  return row?.return_to;
}

export async function deleteExpiredOidcAttempts(db: Queries, now: number): Promise<void> {
  await db.deleteFrom('oidc_attempts').where('expires_at', '<=', isoMicros(now)).execute();
}
