import type { Command } from 'commander';
import type { SignInLink, UserRecord } from '../../wire/contract/users.ts';
import { CommandError } from '../exit-codes.ts';
import { addOpenApiOptions, addressSettings, noteIfStopped, withApi, type OpenApiOptions } from '../open-api.ts';
import { showRecord, type OutputOptions } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { findUser, nameOf, showLink } from './users.ts';

export function loginCommand(parent: Command, terminal: Terminal): void {
  addOpenApiOptions(parent.command('login'), addressSettings)
    .argument('[user]', 'address or number of the user; default: the first admin, or the owner of the API key')
    .action(async (name: string | undefined, options: OpenApiOptions & OutputOptions) => {
      const { user, link } = await withApi(options, terminal, async (api) => {
        const user = name === undefined ? await api.get<UserRecord>('/api/users/@me/') : await findUser(api, name);
        if (user.is_active === false) {
          const advice = `reactivate the user first: millrace users role ${user.id} ${user.role}`;
          throw new CommandError('failed', `${nameOf(user)} is deactivated; ${advice}`);
        }
        return { user, link: await api.send<SignInLink>('POST', `/api/users/${user.id}/sign_in_link/`) };
      });
      const { id, email, role } = user;
      const record = { user_id: id, email, role, sign_in_url: link.sign_in_url };
      await showRecord(terminal, options, record, () => showLink(terminal, user, link));
      noteIfStopped(options, terminal);
    });
}
