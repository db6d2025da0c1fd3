import type { Command } from 'commander';
import { addSettingOptions } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';
import { addUserServiceOptions, openUserDirectory, type UserServiceOptions } from '../users/user-directory.ts';

interface LoginOptions extends UserServiceOptions {
  readonly json?: boolean;
}

/** The way into the console for whoever holds the data directory, or a key of a service elsewhere. */
export function loginCommand(parent: Command, terminal: Terminal): void {
  addUserServiceOptions(
    addSettingOptions(parent.command('login').option('--json', 'print JSON'), [
      'dataDir',
      'databaseUrl',
      'siteUrl',
      'host',
      'port',
    ]),
  )
    .description(
      'print a one-time link into the console, made in the data directory (or DATABASE_URL) itself, or by the service of --profile or --url',
    )
    .argument('[user]', 'address or number of the user; default: the first admin, or whose key it is')
    .action(async (name: string | undefined, options: LoginOptions) => {
      const users = await openUserDirectory(options, terminal);
      const { user, url, lifetime } = await users.signIn(name);
      const { id, email, role } = user;
      if (options.json === true) return terminal.json({ user_id: id, email, role, sign_in_url: url });
      terminal.data(url);
      terminal.note(`signs in ${email || user.first_name} (${role}); ${lifetime}`);
    });
}
