import { expect, it } from 'vitest';
import { createAccount, now } from '../../support/metadata-rows.ts';
import { isoMicros } from '../../../src/base/clock.ts';
import type { Use } from './metadata.ts';
import { createSession, findSession } from '../../../src/stores/metadata/sessions.ts';
import {
  addUser,
  changeUser,
  createUser,
  deleteUser,
  EmailTakenError,
  firstAdmin,
  LastAdminError,
} from '../../../src/stores/metadata/users.ts';

/** Runs on a migrated store. */
export function testUsers(use: Use): void {
  const bob = { firstName: 'Bob', email: 'bob@example.com', role: 'admin' } as const;

  it('of two admins who remove each other concurrently from two processes, one stays', async () => {
    const { db, other } = use();
    const { organizationId, userId } = await createAccount(db);
    const { id } = await createUser(db, { organizationId, ...bob }, now);
    const outcomes = await Promise.allSettled([
      db.transaction().execute((tx) => deleteUser(tx, organizationId, id)),
      other.transaction().execute((tx) => changeUser(tx, organizationId, userId, { role: 'viewer' })),
    ]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refused = outcomes.find((outcome) => outcome.status === 'rejected');
    expect(refused?.reason).toBeInstanceOf(LastAdminError);
    expect(await firstAdmin(db, organizationId)).toBeDefined();
  });

  it('of two concurrent invitations of one user from two processes, one is created', async () => {
    const { db, other } = use();
    const { organizationId } = await createAccount(db);
    const outcomes = await Promise.allSettled(
      [db, other].map((store) => store.transaction().execute((tx) => addUser(tx, { organizationId, ...bob }, now))),
    );
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused.map(({ reason }) => reason instanceof EmailTakenError)).toEqual([true]);
  });

  it('a deactivated user has no sessions; users of other organisations are unaffected', async () => {
    const { db } = use();
    const { organizationId, userId } = await createAccount(db);
    await createUser(db, { organizationId, ...bob }, now);
    const { value } = await createSession(db, { userId, now });
    const shutOut = { deactivatedAt: isoMicros(now) };
    const change = (organization: string) =>
      db.transaction().execute((tx) => changeUser(tx, organization, userId, shutOut));
    expect(await change('another')).toBeUndefined();
    expect(await findSession(db, value, now)).toBeDefined();
    expect(await change(organizationId)).toMatchObject(shutOut);
    expect(await findSession(db, value, now)).toBeUndefined();
  });
}
