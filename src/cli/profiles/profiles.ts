import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandProcess } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';

/** A server, and how to get in. */
export interface Profile {
  readonly url: string;
  /** Personal. */
  readonly api_key?: string;
  readonly project_key?: string;
  /** Number, or @current. */
  readonly project?: string;
}

export interface Profiles {
  /** Taken where no other is named. */
  readonly current: string | undefined;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const none: Profiles = { current: undefined, profiles: {} };
const forOthers = 0o077;

/** In the user's directory of configuration ($XDG_CONFIG_HOME, else ~/.config); undefined: of a process without a home. */
function fileOf({ env }: Pick<CommandProcess, 'env'>): string | undefined {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env;
  const dir = config === '' && home !== '' ? join(home, '.config') : config;
  return dir === '' ? undefined : join(dir, 'millrace', 'profiles.json');
}

/** Errors: CommandError usage. */
export function profilesFile(process: Pick<CommandProcess, 'env'>): string {
  const file = fileOf(process);
  if (file !== undefined) return file;
  throw new CommandError('usage', 'expected a home for profiles, got neither HOME nor XDG_CONFIG_HOME; set one');
}

/** None where there is no file. Errors: CommandError invalidConfig when it is not one of ours. */
export function readProfiles(process: Pick<CommandProcess, 'env'>): Profiles {
  const file = fileOf(process);
  if (file === undefined) return none;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return none;
    throw error;
  }
  // Somebody has copied it, perhaps.
  if ((statSync(file).mode & forOthers) !== 0) chmodSync(file, 0o600);
  return checked(file, text);
}

/** For this user alone, whole or not at all. */
export function writeProfiles(process: Pick<CommandProcess, 'env'>, profiles: Profiles): void {
  const file = profilesFile(process);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(draft, file);
}

/** Errors: CommandError notFound, with the names that there are. */
export function profileOf({ profiles }: Profiles, name: string): Profile {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(profiles);
  const known =
    names.length === 0 ? 'there are none yet: "millrace profiles add" makes one' : `got ${names.join(', ')}`;
  throw new CommandError('notFound', `expected a profile ${name}, ${known}`);
}

function checked(file: string, text: string): Profiles {
  const wrong = (): CommandError =>
    new CommandError(
      'invalidConfig',
      `expected ${file} as "millrace profiles" writes it, got something else; correct or remove it`,
    );
  let read: { readonly current?: unknown; readonly profiles?: unknown };
  try {
    read = JSON.parse(text) as typeof read;
  } catch {
    throw wrong();
  }
  const { current, profiles } = read ?? {};
  if (typeof profiles !== 'object' || profiles === null) throw wrong();
  if (!Object.values(profiles).every(isProfile)) throw wrong();
  return { current: typeof current === 'string' ? current : undefined, profiles: { ...profiles } };
}

function isProfile(value: unknown): value is Profile {
  if (typeof value !== 'object' || value === null || !('url' in value) || typeof value.url !== 'string') return false;
  const { api_key, project_key, project } = value as Partial<Record<keyof Profile, unknown>>;
  return [api_key, project_key, project].every((each) => each === undefined || typeof each === 'string');
}
