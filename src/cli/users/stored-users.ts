import type { Settings } from '../../server/config/settings.ts';
import type { Actor } from '../../stores/metadata/activity.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { systemActor } from '../../stores/metadata/record-change.ts';
import { recordUser } from '../../stores/metadata/record-user.ts';
import { userFields } from '../../stores/metadata/user-fields.ts';
import {
  addUser,
  changeUser,
  deleteUser,
  EmailTakenError,
  LastAdminError,
  listUsers,
  type User,
} from '../../stores/metadata/users.ts';
import { CommandError } from '../exit-codes.ts';
import { withMetadata } from '../with-metadata.ts';
import { findUser } from './find-user.ts';
import { noUser } from './no-user.ts';
import { linkLifetimes, makeSignInLink } from './sign-in-link.ts';
import type { SignIn, UserDirectory } from './user-directory.ts';

/** Users on the metadata store itself: works without a service, and beside one. */
export function storedUsers(settings: Settings): UserDirectory {
  return {
    list: () =>
      withMetadata(settings, async (db, { organizationId }) => (await listUsers(db, organizationId)).map(userFields)),
    find: (name) =>
      withMetadata(settings, async (db, owner) => userFields(await findUser(db, owner.organizationId, name))),
    signIn: (name) => signIn(settings, name),
    invite: (input) =>
      withMetadata(settings, async (db, { organizationId }) => {
        const made = await changing(db, organizationId, async (tx, actor, now) => {
          const after = await addUser(tx, { organizationId, ...input }, now);
          await recordUser(tx, actor, { user: after, after, now });
          return after;
        });
        return await linkFor(db, settings, made, 'invitation');
      }),
    changeRole: (name, role) =>
      withMetadata(settings, async (db, { organizationId }) => {
        const before = await findUser(db, organizationId, name);
        return changing(db, organizationId, async (tx, actor, now) => {
          const after = await changeUser(tx, organizationId, before.id, { role, deactivatedAt: null });
          if (after === undefined) throw noUser(name);
          await recordUser(tx, actor, { user: after, before, after, now });
          return userFields(after);
        });
      }),
    remove: ({ id }) =>
      withMetadata(settings, async (db, { organizationId }) => {
        const user = await findUser(db, organizationId, String(id));
        await changing(db, organizationId, async (tx, actor, now) => {
          await recordUser(tx, actor, { user, before: user, now });
          if ((await deleteUser(tx, organizationId, user.id)) === undefined) throw noUser(String(id));
        });
      }),
  };
}

function signIn(settings: Settings, name: string | undefined): Promise<SignIn> {
  return withMetadata(settings, async (db, owner) => {
    const found = name === undefined ? owner : await findUser(db, owner.organizationId, name);
    if (found.deactivatedAt !== null) {
      const advice = `let the user in again first: millrace users role ${found.id} ${found.role}`;
      throw new CommandError('failed', `${found.email || found.firstName} is deactivated; ${advice}`);
    }
    return await linkFor(db, settings, found, 'login');
  });
}

async function linkFor(
  db: Metadata,
  settings: Settings,
  user: User,
  purpose: keyof typeof linkLifetimes,
): Promise<SignIn> {
  const url = await makeSignInLink(db, settings, { userId: user.id, purpose });
  return { user: userFields(user), url, lifetime: `works once, for ${linkLifetimes[purpose].words}` };
}

/** One transaction, logged as done by the service: nobody has signed in to a command line. */
async function changing<T>(
  db: Metadata,
  organizationId: string,
  change: (tx: Queries, actor: Actor, now: number) => Promise<T>,
): Promise<T> {
  const actor = systemActor(organizationId);
  try {
    return await db.transaction().execute((tx) => change(tx, actor, Date.now()));
  } catch (cause) {
    if (cause instanceof LastAdminError) {
      throw new CommandError('failed', 'the last admin must stay one: make somebody else an admin first', { cause });
    }
    if (cause instanceof EmailTakenError) {
      throw new CommandError('failed', 'a user with this address already exists; "millrace users list" shows it', {
        cause,
      });
    }
    throw cause;
  }
}
