import type { Command } from 'commander';
import { CommandError } from '../exit-codes.ts';
import { findUser } from '../find-user.ts';
import { addSettingOptions, storeOf } from '../setting-options.ts';
import { linkLifetimes, makeSignInLink } from '../sign-in-link.ts';
import type { Terminal } from '../terminal.ts';
import { withMetadata } from '../with-metadata.ts';

/** The way into the console for whoever holds the data directory: works without a server, and beside one. */
export function loginCommand(parent: Command, terminal: Terminal): void {
  addSettingOptions(parent.command('login').option('--json', 'print JSON'), [
    'dataDir',
    'databaseUrl',
    'siteUrl',
    'host',
    'port',
  ])
    .description('print a one-time link into the console, made in the data directory (or DATABASE_URL) itself')
    .argument('[user]', 'address or number of the user; default: the first admin')
    .action(async (name: string | undefined, options: { readonly json?: boolean }) => {
      const settings = storeOf(options, terminal.process);
      const { user, url } = await withMetadata(settings, async (db, owner) => {
        const found = name === undefined ? owner : await findUser(db, owner.organizationId, name);
        if (found.deactivatedAt !== null) {
          const advice = `let the user in again first: millrace users role ${found.id} ${found.role}`;
          throw new CommandError('failed', `${found.email || found.firstName} is deactivated; ${advice}`);
        }
        return { user: found, url: await makeSignInLink(db, settings, { userId: found.id, purpose: 'login' }) };
      });
      if (options.json)
        return terminal.json({ user_id: user.id, email: user.email, role: user.role, sign_in_url: url });
      terminal.data(url);
      const who = `${user.email || user.firstName} (${user.role})`;
      terminal.note(`signs in ${who}; works once, for ${linkLifetimes.login.words}`);
    });
}
