import { expect, it } from 'vitest';
import { createAccount, now } from '../../support/metadata-rows.ts';
import { isoMicros } from '../../../src/base/clock.ts';
import { addOidcAttempt, oidcAttemptMs, useOidcAttempt } from '../../../src/stores/metadata/oidc-attempts.ts';
import { signInOidcUser, type OidcAccount, type OidcRole } from '../../../src/stores/metadata/oidc-users.ts';
import { createSession, deleteSession, findSession, listSessions } from '../../../src/stores/metadata/sessions.ts';
import { changeUser, createUser, getUser, type User } from '../../../src/stores/metadata/users.ts';
import type { Use } from './metadata.ts';

const issuer = 'https://id.example.com';
const ada: OidcAccount = { issuer, subject: 'u1', email: 'ada@example.com', firstName: 'Ada' };
const editor: OidcRole = { kind: 'set', role: 'editor' };

/** Runs on a migrated store. */
export function testOidcUsers(use: Use): void {
  const signIn = (organizationId: string, account: OidcAccount, role: OidcRole) =>
    use()
      .db.transaction()
      .execute((tx) => signInOidcUser(tx, { organizationId, account, role, requestId: 'r1', now }));
  const userOf = async (organizationId: string, account = ada, role = editor): Promise<User> => {
    const result = await signIn(organizationId, account, role);
    if ('user' in result) return result.user;
    throw new Error(`expected a user, got: ${result.refusal}`);
  };

  it('a user keeps the account of the provider when its address, name or role changes there', async () => {
    const { organizationId } = await createAccount(use().db);
    const created = await userOf(organizationId);
    expect(created).toMatchObject({ email: ada.email, firstName: 'Ada', role: 'editor' });
    const renamed = { ...ada, email: 'ada.king@example.com', firstName: 'Ada King' };
    const followed = await userOf(organizationId, renamed, { kind: 'set', role: 'viewer' });
    expect(followed).toMatchObject({ id: created.id, email: renamed.email, firstName: 'Ada King', role: 'viewer' });
    expect(await userOf(organizationId, renamed, { kind: 'keep', roleOfNew: 'admin' })).toMatchObject({
      role: 'viewer',
    });
  });

  it('an invited user is linked by address, once: another account with that address is refused', async () => {
    const { organizationId } = await createAccount(use().db);
    const invited = await createUser(
      use().db,
      { organizationId, firstName: 'ada', email: 'Ada@Example.com', role: 'viewer' },
      now,
    );
    const keep = { kind: 'keep', roleOfNew: undefined } as const;
    expect(await userOf(organizationId, ada, keep)).toMatchObject({ id: invited.id, role: 'viewer' });
    const other = { ...ada, subject: 'u2' };
    expect(await signIn(organizationId, other, editor)).toEqual({ refusal: 'account_conflict', userId: undefined });
    // After a move to another provider the same address is linked again.
    expect(await userOf(organizationId, { ...other, issuer: 'https://new.example.com' }, keep)).toMatchObject({
      id: invited.id,
    });
    const stranger = { ...ada, subject: 'u3', email: 'eve@example.com' };
    expect(await signIn(organizationId, stranger, keep)).toEqual({ refusal: 'no_role', userId: undefined });
  });

  it.each([
    ['without a role', { kind: 'none' }, 'no_role'],
    ['that is deactivated', editor, 'deactivated'],
  ] as const)('a user %s is refused and signed out', async (_name, role, refusal) => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const { id } = await userOf(organizationId);
    const { value } = await createSession(db, { userId: id, now });
    if (refusal === 'deactivated') {
      await db.transaction().execute((tx) => changeUser(tx, organizationId, id, { deactivatedAt: isoMicros(now) }));
    }
    expect(await signIn(organizationId, ada, role)).toEqual({ refusal, userId: id });
    expect(await findSession(db, value, now)).toBeUndefined();
    const activities = await db.selectFrom('activity_log').select('activity').where('scope', '=', 'User').execute();
    expect(activities.map(({ activity }) => activity)).toContain('sign_in_refused');
  });

  it('groups cannot take the role of the last admin', async () => {
    const { db } = use();
    const { organizationId, userId } = await createAccount(db);
    const account = { ...ada, email: (await getUser(db, userId))?.email ?? '' };
    expect(await signIn(organizationId, account, editor)).toEqual({ refusal: 'last_admin', userId });
    expect(await getUser(db, userId)).toMatchObject({ role: 'admin' });
    await createUser(db, { organizationId, firstName: 'Bob', email: 'bob@example.com', role: 'admin' }, now);
    expect(await userOf(organizationId, account)).toMatchObject({ id: userId, role: 'editor' });
  });

  it('a started sign-in is used once, in time, and by its browser; of two concurrent uses one succeeds', async () => {
    const { db, other } = use();
    const attempt = { state: 's1', browser: 'b1' };
    await addOidcAttempt(db, { ...attempt, returnTo: '/console/' }, now);
    expect(await useOidcAttempt(db, { ...attempt, browser: 'b2' }, now)).toBeUndefined();
    expect(await useOidcAttempt(db, attempt, now + oidcAttemptMs)).toBeUndefined();
    const uses = await Promise.all([db, other].map((store) => useOidcAttempt(store, attempt, now)));
    expect(uses.filter((path) => path !== undefined)).toEqual(['/console/']);
  });

  it('a session shows how it was opened, and its ID token is deleted with it', async () => {
    const { db } = use();
    const { organizationId } = await createAccount(db);
    const { id: userId } = await userOf(organizationId);
    const oidc = { issuer, idToken: 'id-token' };
    const { value } = await createSession(db, { userId, now, oidc });
    const sessions = await listSessions(db, userId, now);
    expect(sessions.map(({ openedBy }) => openedBy)).toEqual(['oidc']);
    expect(JSON.stringify(sessions)).not.toContain('id-token');
    expect(await deleteSession(db, value)).toEqual(oidc);
    expect(await deleteSession(db, value)).toBeUndefined();
  });
}
