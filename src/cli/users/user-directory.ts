import type { Command } from 'commander';
import { Option } from 'commander';
import type { Role } from '../../wire/contract/roles.ts';
import type { UserRecord } from '../../wire/contract/users.ts';
import { addApiKeyOption } from '../api-options.ts';
import { addProfileOption } from '../profiles/take-profile.ts';
import type { Settings } from '../../server/config/settings.ts';
import type { Terminal } from '../terminal.ts';

/** As the API shows a user. */
export type UserView = Omit<UserRecord, 'last_seen_at' | 'sessions' | 'personal_api_keys'>;

/** A one-time link into the console. */
export interface SignIn {
  readonly user: UserView;
  readonly url: string;
  /** `works once, for 30 minutes`. */
  readonly lifetime: string;
}

export interface NewUser {
  readonly email: string;
  readonly firstName: string;
  readonly role: Role;
}

/** Who may use a service: in the data directory itself, or over its API. All throw CommandError. */
export interface UserDirectory {
  list(): Promise<readonly UserView[]>;
  /** By address or number. */
  find(name: string): Promise<UserView>;
  /** Without a name for whoever asks: of a data directory its first admin. */
  signIn(name: string | undefined): Promise<SignIn>;
  invite(user: NewUser): Promise<SignIn>;
  /** Lets in again, too. */
  changeRole(name: string, role: Role): Promise<UserView>;
  remove(user: UserView): Promise<void>;
}

export interface UserServiceOptions extends Readonly<Record<string, unknown>> {
  readonly url?: string;
  readonly apiKey?: string;
}

/** For commands that work on the data directory unless a service is named. */
export function addUserServiceOptions(command: Command): Command {
  command.addOption(new Option('--url <url>', 'of a running service, instead of the data directory'));
  return addProfileOption(addApiKeyOption(command));
}

/** Links lead to where the service is: its site URL, the port that is named, or the address that the other commands use. */
function withAddress(settings: Settings, { port }: UserServiceOptions, { process: { env } }: Terminal): Settings {
  const { MILLRACE_URL: url = '', MILLRACE_PORT: envPort } = env;
  const isKnown = settings.siteUrl !== '' || port !== undefined || envPort !== undefined;
  return isKnown ? settings : { ...settings, siteUrl: url };
}

export async function openUserDirectory(options: UserServiceOptions, terminal: Terminal): Promise<UserDirectory> {
  if (options.url !== undefined) {
    const { servedUsers } = await import('./served-users.ts');
    return servedUsers(options.url, options.apiKey);
  }
  const [{ storedUsers }, { storeOf }] = await Promise.all([
    import('./stored-users.ts'),
    import('../setting-options.ts'),
  ]);
  return storedUsers(withAddress(storeOf(options, terminal.process), options, terminal));
}
