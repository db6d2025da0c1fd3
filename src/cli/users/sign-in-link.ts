import type { Settings } from '../../server/config/settings.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createLoginLink, invitationMs, loginLinkMs } from '../../stores/metadata/sessions.ts';
import { localUrl } from '../commands/healthcheck.ts';

/** How long a link waits: for oneself at the keyboard, or for somebody who is sent it. */
export const linkLifetimes = {
  login: { ms: loginLinkMs, words: '30 minutes' },
  invitation: { ms: invitationMs, words: '72 hours' },
} as const;

/** A one-time link into the console of the service that these settings describe. */
export async function makeSignInLink(
  db: Metadata,
  settings: Pick<Settings, 'siteUrl' | 'host' | 'port'>,
  { userId, purpose }: { readonly userId: number; readonly purpose: keyof typeof linkLifetimes },
): Promise<string> {
  const token = await createLoginLink(db, { userId, now: Date.now(), lifetimeMs: linkLifetimes[purpose].ms });
  const base = settings.siteUrl === '' ? localUrl(settings) : settings.siteUrl.replace(/\/+$/, '');
  return `${base}/login?token=${token}`;
}
