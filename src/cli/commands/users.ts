import type { Command } from 'commander';
import { isRole, roles, type Role } from '../../wire/contract/roles.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { addOutputOptions, showList, showRecord, type OutputOptions } from '../output.ts';
import { addSettingOptions, addStoreOptions } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';
import {
  addUserServiceOptions,
  openUserDirectory,
  type UserServiceOptions,
  type UserView,
} from '../users/user-directory.ts';

interface UserOptions extends OutputOptions, UserServiceOptions {
  readonly json?: boolean;
  readonly yes?: boolean;
  readonly name?: string;
  readonly role?: string;
}

/** Users of the console and the API. */
export function usersCommand(parent: Command, terminal: Terminal): void {
  const users = parent
    .command('users')
    .description(
      'who may use the service, in the data directory (or DATABASE_URL) itself, or of the service of --profile or --url',
    );
  listCommand(users, terminal);
  addCommand(users, terminal);
  roleCommand(users, terminal);
  removeCommand(users, terminal);
}

function listCommand(users: Command, terminal: Terminal): void {
  addUserServiceOptions(addStoreOptions(users.command('list')))
    .description('list the users')
    .action(async (options: UserOptions) => {
      const found = await (await openUserDirectory(options, terminal)).list();
      await showList(terminal, options, found, () =>
        terminal.table(['ID', 'NAME', 'EMAIL', 'ROLE', 'STATE', 'JOINED'], found.map(row)),
      );
    });
}

function addCommand(users: Command, terminal: Terminal): void {
  addUserServiceOptions(
    addSettingOptions(addOutputOptions(users.command('add').alias('invite')), [
      'dataDir',
      'databaseUrl',
      'siteUrl',
      'host',
      'port',
    ]),
  )
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
      const users = await openUserDirectory(options, terminal);
      const { user, url, lifetime } = await users.invite({ email, firstName, role });
      await showRecord(terminal, options, { ...user, sign_in_url: url }, () => {
        terminal.data(url);
        terminal.note(`signs in ${email} (${role}); ${lifetime}`);
      });
    });
}

function roleCommand(users: Command, terminal: Terminal): void {
  addUserServiceOptions(addStoreOptions(users.command('role')))
    .description('give a user another role; a user who was deactivated is let in again')
    .argument('<user>', 'address or number, from "users list"')
    .argument('<role>', roles.join(', '))
    .action(async (name: string, text: string, options: UserOptions) => {
      const role = checkedRole(text);
      const changed = await (await openUserDirectory(options, terminal)).changeRole(name, role);
      await showRecord(terminal, options, changed, () =>
        terminal.note(`${changed.email || changed.first_name} is ${changed.role}`),
      );
    });
}

function removeCommand(users: Command, terminal: Terminal): void {
  addUserServiceOptions(addStoreOptions(users.command('remove')))
    .description('delete a user with the sessions and keys of that user')
    .argument('<user>', 'address or number, from "users list"')
    .option('--yes', 'do not ask')
    .action(async (name: string, options: UserOptions) => {
      const users = await openUserDirectory(options, terminal);
      const user = await users.find(name);
      const called = user.email || user.first_name;
      await confirm(terminal.process, `Delete user ${called} with all sessions and API keys?`, options);
      await users.remove(user);
      terminal.note(`deleted user ${called}`);
    });
}

function checkedRole(text: string): Role {
  if (isRole(text)) return text;
  throw new CommandError('usage', `expected a role (${roles.join(', ')}), got: ${text}`);
}

function row(user: UserView): string[] {
  const state = user.is_active ? 'active' : 'deactivated';
  return [String(user.id), user.first_name, user.email, user.role, state, user.date_joined];
}
