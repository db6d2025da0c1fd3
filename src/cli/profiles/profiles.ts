import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandProcess } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';

/** A service and its keys. */
export interface Profile {
  readonly url: string;
  /** Personal key. */
  readonly api_key?: string;
  readonly project_key?: string;
  /** Project number, or @current. */
  readonly project?: string;
}

export interface Profiles {
  /** Profile used when none is named. */
  readonly current: string | undefined;
  readonly profiles: Readonly<Record<string, Profile>>;
}

const noProfiles: Profiles = { current: undefined, profiles: {} };
const groupAndOthers = 0o077;

/** Returns the file in the user's configuration directory ($XDG_CONFIG_HOME, otherwise ~/.config), if the process has one. */
function fileOf({ env }: Pick<CommandProcess, 'env'>): string | undefined {
  const { XDG_CONFIG_HOME: config = '', HOME: home = '' } = env;
  const dir = config === '' && home !== '' ? join(home, '.config') : config;
  return dir === '' ? undefined : join(dir, 'millrace', 'profiles.json');
}

/** Returns the file of profiles. Errors: usage, without a home directory. */
export function profilesFile(process: Pick<CommandProcess, 'env'>): string {
  const file = fileOf(process);
  if (file !== undefined) return file;
  throw new CommandError('usage', 'expected HOME or XDG_CONFIG_HOME for profiles, got neither; set one');
}

/** Reads the profiles; none without a file. Errors: invalidConfig, when the file is malformed. */
export function readProfiles(process: Pick<CommandProcess, 'env'>): Profiles {
  const file = fileOf(process);
  if (file === undefined) return noProfiles;
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR'))
      return noProfiles;
    throw error;
  }
  // A copied file may be readable by other users.
  if ((statSync(file).mode & groupAndOthers) !== 0) chmodSync(file, 0o600);
  return checked(file, text);
}

/** Writes the profiles atomically, readable by this user only. */
export function writeProfiles(process: Pick<CommandProcess, 'env'>, profiles: Profiles): void {
  const file = profilesFile(process);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(profiles, null, 2)}\n`, { mode: 0o600, flush: true });
  renameSync(draft, file);
}

/** Returns a profile. Errors: notFound, with the existing names. */
export function profileOf({ profiles }: Profiles, name: string): Profile {
  const found = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (found !== undefined) return found;
  const names = Object.keys(profiles);
  const known = names.length === 0 ? 'got none; create one with "millrace profiles add"' : `got ${names.join(', ')}`;
  throw new CommandError('notFound', `expected a profile ${name}, ${known}`);
}

function checked(file: string, text: string): Profiles {
  const malformed = (): CommandError =>
    new CommandError(
      'invalidConfig',
      `${file} is malformed: expected the format of "millrace profiles"; correct or remove the file`,
    );
  let read: { readonly current?: unknown; readonly profiles?: unknown };
  try {
    read = JSON.parse(text) as typeof read;
  } catch {
    throw malformed();
  }
  const { current, profiles } = read ?? {};
  if (typeof profiles !== 'object' || profiles === null) throw malformed();
  if (!Object.values(profiles).every(isProfile)) throw malformed();
  return { current: typeof current === 'string' ? current : undefined, profiles: { ...profiles } };
}

function isProfile(value: unknown): value is Profile {
  if (typeof value !== 'object' || value === null || !('url' in value) || typeof value.url !== 'string') return false;
  const { api_key, project_key, project } = value as Partial<Record<keyof Profile, unknown>>;
  return [api_key, project_key, project].every((each) => each === undefined || typeof each === 'string');
}
