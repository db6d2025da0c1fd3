import type { Command } from 'commander';
import { isRole, roles, type Role } from '../../contract/roles.ts';
import type { Actor } from '../../metadata/activity.ts';
import type { Metadata } from '../../metadata/database.ts';
import type { Queries } from '../../metadata/queries.ts';
import { systemActor } from '../../metadata/record-change.ts';
import { recordUser } from '../../metadata/record-user.ts';
import {
  addUser,
  changeUser,
  deleteUser,
  EmailTakenError,
  LastAdminError,
  listUsers,
  type User,
} from '../../metadata/users.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { findUser, noUser } from '../find-user.ts';
import { addOutputOptions, showList, showRecord, type OutputOptions } from '../output.ts';
import { addSettingOptions, addStoreOptions, storeOf } from '../setting-options.ts';
import { linkLifetimes, makeSignInLink } from '../sign-in-link.ts';
import type { Terminal } from '../terminal.ts';
import { withMetadata } from '../with-metadata.ts';

interface UserOptions extends OutputOptions {
  readonly yes?: boolean;
  readonly name?: string;
  readonly role?: string;
}

/** Users of the console and the API, on the metadata store itself: works without a server, and beside one. */
export function usersCommand(parent: Command, terminal: Terminal): void {
  const users = parent
    .command('users')
    .description('who may use the service, in the data directory (or DATABASE_URL) itself');
  listCommand(users, terminal);
  addCommand(users, terminal);
  roleCommand(users, terminal);
  removeCommand(users, terminal);
}

function listCommand(users: Command, terminal: Terminal): void {
  addStoreOptions(users.command('list'))
    .description('list the users')
    .action(async (options: UserOptions) => {
      const found = await withMetadata(storeOf(options, terminal.process), (db, owner) =>
        listUsers(db, owner.organizationId),
      );
      await showList(terminal, options, found.map(shown), () =>
        terminal.table(['ID', 'NAME', 'EMAIL', 'ROLE', 'STATE', 'JOINED'], found.map(row)),
      );
    });
}

function addCommand(users: Command, terminal: Terminal): void {
  addSettingOptions(addOutputOptions(users.command('add')), ['dataDir', 'databaseUrl', 'siteUrl', 'host', 'port'])
    .description('make a user and print a one-time link to hand over; nothing is sent')
    .argument('<email>', 'address, which tells users apart')
    .option('--name <name>', 'name to show; default: what is before the @')
    .option('--role <role>', roles.join(', '), 'viewer')
    .action(async (email: string, options: UserOptions) => {
      const role = checkedRole(options.role ?? 'viewer');
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) {
        throw new CommandError('usage', `expected an address such as ada@example.com, got: ${email}`);
      }
      const firstName = options.name?.trim() || email.slice(0, email.indexOf('@'));
      const settings = storeOf(options, terminal.process);
      const { user, url } = await withMetadata(settings, async (db, { organizationId }) => {
        const made = await changing(db, organizationId, async (tx, actor, now) => {
          const after = await addUser(tx, { organizationId, email, firstName, role }, now);
          await recordUser(tx, actor, { user: after, after, now });
          return after;
        });
        return { user: made, url: await makeSignInLink(db, settings, { userId: made.id, purpose: 'invitation' }) };
      });
      await showRecord(terminal, options, { ...shown(user), sign_in_url: url }, () => {
        terminal.data(url);
        terminal.note(`signs in ${email} (${role}); works once, for ${linkLifetimes.invitation.words}`);
      });
    });
}

function roleCommand(users: Command, terminal: Terminal): void {
  addStoreOptions(users.command('role'))
    .description('give a user another role; a user who was deactivated is let in again')
    .argument('<user>', 'address or number, from "users list"')
    .argument('<role>', roles.join(', '))
    .action(async (name: string, text: string, options: UserOptions) => {
      const role = checkedRole(text);
      const changed = await withMetadata(storeOf(options, terminal.process), async (db, { organizationId }) => {
        const before = await findUser(db, organizationId, name);
        return changing(db, organizationId, async (tx, actor, now) => {
          const after = await changeUser(tx, organizationId, before.id, { role, deactivatedAt: null });
          if (after === undefined) throw noUser(name);
          await recordUser(tx, actor, { user: after, before, after, now });
          return after;
        });
      });
      await showRecord(terminal, options, shown(changed), () =>
        terminal.note(`${changed.email || changed.firstName} is ${changed.role}`),
      );
    });
}

function removeCommand(users: Command, terminal: Terminal): void {
  addStoreOptions(users.command('remove'))
    .description('delete a user with the sessions and keys of that user')
    .argument('<user>', 'address or number, from "users list"')
    .option('--yes', 'do not ask')
    .action(async (name: string, options: UserOptions) => {
      const store = storeOf(options, terminal.process);
      const user = await withMetadata(store, (db, { organizationId }) => findUser(db, organizationId, name));
      const called = user.email || user.firstName;
      await confirm(terminal.process, `Delete user ${called} with all sessions and API keys?`, options);
      await withMetadata(store, (db, { organizationId }) =>
        changing(db, organizationId, async (tx, actor, now) => {
          await recordUser(tx, actor, { user, before: user, now });
          if ((await deleteUser(tx, organizationId, user.id)) === undefined) throw noUser(name);
        }),
      );
      terminal.note(`deleted user ${called}`);
    });
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

function checkedRole(text: string): Role {
  if (isRole(text)) return text;
  throw new CommandError('usage', `expected a role (${roles.join(', ')}), got: ${text}`);
}

function row(user: User): string[] {
  const state = user.deactivatedAt === null ? 'active' : 'deactivated';
  return [String(user.id), user.firstName, user.email, user.role, state, user.createdAt];
}

/** As the API shows a user. */
function shown(user: User): Record<string, unknown> {
  return {
    id: user.id,
    uuid: user.uuid,
    first_name: user.firstName,
    email: user.email,
    role: user.role,
    is_active: user.deactivatedAt === null,
    deactivated_at: user.deactivatedAt,
    date_joined: user.createdAt,
  };
}
