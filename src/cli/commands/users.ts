import type { Command } from 'commander';
import { isRole, roles, type Role } from '../../wire/contract/roles.ts';
import type { SignInLink, UserRecord } from '../../wire/contract/users.ts';
import type { Api } from '../api-client.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { addOpenApiOptions, addressSettings, noteIfStopped, withApi, type OpenApiOptions } from '../open-api.ts';
import { showList, showRecord, showTable, type OutputOptions } from '../output.ts';
import type { Terminal } from '../terminal.ts';

interface UserOptions extends OutputOptions, OpenApiOptions {
  readonly yes?: boolean;
  readonly name?: string;
  readonly role?: string;
}

const path = '/api/users/';

export function usersCommand(parent: Command, terminal: Terminal): void {
  const users = parent.command('users');
  listCommand(users, terminal);
  addCommand(users, terminal);
  roleCommand(users, terminal);
  removeCommand(users, terminal);
}

function listCommand(users: Command, terminal: Terminal): void {
  addOpenApiOptions(users.command('list'))
    .description('list the users')
    .action(async (options: UserOptions) => {
      const found = await withApi(options, terminal, (api) => api.get<UserRecord[]>(path));
      await showList(terminal, options, found, () =>
        showTable(terminal, found, {
          ID: ({ id }) => String(id),
          NAME: (user) => user.first_name,
          EMAIL: ({ email }) => email,
          ROLE: ({ role }) => role,
          STATE: (user) => (user.is_active ? 'active' : 'deactivated'),
          JOINED: (user) => user.date_joined,
        }),
      );
    });
}

function addCommand(users: Command, terminal: Terminal): void {
  addOpenApiOptions(users.command('add').alias('invite'), addressSettings)
    .description('create a user and print a one-time sign-in link to pass on; nothing is sent')
    .argument('<email>', 'address, which identifies the user')
    .option('--name <name>', 'name to show; default: what is before the @')
    .option('--role <role>', roles.join(', '), 'viewer')
    .action(async (email: string, options: UserOptions) => {
      const role = checkedRole(options.role ?? 'viewer');
      if (!/^[^\s@]+@[^\s@]+$/.test(email)) {
        throw new CommandError('usage', `expected an address such as ada@example.com, got: ${email}`);
      }
      const name = options.name?.trim();
      const body = { email, role, ...(name && { first_name: name }) };
      const invited = await withApi(options, terminal, (api) => api.send<UserRecord & SignInLink>('POST', path, body));
      await showRecord(terminal, options, invited, () => showLink(terminal, invited, invited));
      noteIfStopped(options, terminal);
    });
}

function roleCommand(users: Command, terminal: Terminal): void {
  addOpenApiOptions(users.command('role'))
    .description("change a user's role; also reactivates a deactivated user")
    .argument('<user>', 'address or number, from "users list"')
    .argument('<role>', roles.join(', '))
    .action(async (name: string, text: string, options: UserOptions) => {
      const role = checkedRole(text);
      const changed = await withApi(options, terminal, async (api) => {
        const { id } = await findUser(api, name);
        return await api.send<UserRecord>('PATCH', `${path}${id}/`, { role, is_active: true });
      });
      await showRecord(terminal, options, changed, () => terminal.note(`${nameOf(changed)} is ${changed.role}`));
    });
}

function removeCommand(users: Command, terminal: Terminal): void {
  addOpenApiOptions(users.command('remove'))
    .description('delete a user with all sessions and keys')
    .argument('<user>', 'address or number, from "users list"')
    .option('--yes', 'do not ask')
    .action(async (name: string, options: UserOptions) => {
      await withApi(options, terminal, async (api) => {
        const user = await findUser(api, name);
        await confirm(terminal.process, `Delete user ${nameOf(user)} with all sessions and API keys?`, options);
        await api.send('DELETE', `${path}${user.id}/`);
        terminal.note(`deleted user ${nameOf(user)}`);
      });
    });
}

/** Finds a user by address or number. Errors: notFound. */
export async function findUser(api: Api, name: string): Promise<UserRecord> {
  const wanted = name.toLowerCase();
  const users = await api.get<UserRecord[]>(path);
  const found = users.find(
    ({ id, email }) => String(id) === wanted || (email !== '' && email.toLowerCase() === wanted),
  );
  if (found !== undefined) return found;
  throw new CommandError('notFound', `no user ${name}; "millrace users list" shows addresses and numbers`);
}

/** Prints a sign-in link and what it is good for. */
export function showLink(terminal: Terminal, user: UserName & { readonly role: Role }, link: SignInLink): void {
  terminal.data(link.sign_in_url);
  terminal.note(`signs in ${nameOf(user)} (${user.role}); works once, until ${link.sign_in_expires_at}`);
}

type UserName = Pick<UserRecord, 'email' | 'first_name'>;

export function nameOf({ email, first_name: firstName }: UserName): string {
  return email || firstName;
}

function checkedRole(text: string): Role {
  if (isRole(text)) return text;
  throw new CommandError('usage', `expected a role (${roles.join(', ')}), got: ${text}`);
}
