import { existsSync } from 'node:fs';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { newId } from '../../base/ids.ts';
import { slowHash } from '../../base/slow-hash.ts';
import { CommandError } from '../exit-codes.ts';
import { shellText, type WordGroup } from '../given-words.ts';
import type { ImportRequest } from './request.ts';

/** Description of a local import, stored with its state. Contains no secrets. */
interface StoredImport {
  readonly version: 1;
  readonly source: string;
  readonly format: string;
  /** Address of the target, or `null`. */
  readonly url: string | null;
  /** Hash of the project key, which identifies imports into the same project. */
  readonly target_key: string | null;
  /** The last command. */
  readonly command: GivenCommand;
}

/** A command as typed, with placeholders for secrets. */
export interface GivenCommand {
  /** Working directory, for relative paths. */
  readonly cwd: string;
  /** Words before the arguments: `millrace import`. */
  readonly name: string;
  readonly words: readonly WordGroup[];
}

/** The directory of one import: `<state dir>/<name>`. */
export interface ImportDir {
  readonly stateDir: string;
  /** Identity of the command, with a number from the second time on (`--again`): `3f9c…`, `3f9c…-2`. */
  readonly name: string;
  /** Globally unique id of its run, which its events contain. */
  readonly id: string;
  readonly path: string;
  /** Directory of the metadata store. */
  readonly dataDir: string;
  readonly staging: string;
  readonly temp: string;
}

const descriptionFile = 'import.json';
const idFile = 'run-id';
const registrationFile = 'service.json';
const namePattern = /^[0-9a-f]{16}(-\d{1,4})?$/;

async function importDir(stateDir: string, name: string): Promise<ImportDir> {
  const path = join(resolve(stateDir), name);
  const id = await idOf(path, name);
  return { stateDir, name, id, path, dataDir: path, staging: join(path, 'staging'), temp: join(path, 'temp') };
}

/** An import from before ids were stored in a file has its name as its id. */
async function idOf(path: string, name: string): Promise<string> {
  const file = join(path, idFile);
  return existsSync(file) ? await readFile(file, 'utf8') : name;
}

/** Lists the imports of a state directory; none if it does not exist. */
export async function listImports(stateDir: string): Promise<ImportDir[]> {
  const names = existsSync(stateDir) ? await readdir(stateDir) : [];
  const begun = names.filter((name) => namePattern.test(name) && existsSync(join(stateDir, name, descriptionFile)));
  return Promise.all(begun.map((name) => importDir(stateDir, name)));
}

/** Finds an import by the start of its id. Errors: notFound. */
export async function findImport(stateDir: string, id: string): Promise<ImportDir> {
  const all = await listImports(stateDir);
  const found = all.filter((each) => each.id.startsWith(id));
  const first = found.find((each) => found.length === 1 || each.id === id);
  if (first !== undefined && id !== '') return first;
  const why = found.length > 1 ? 'expected a longer id: several imports match' : `no import ${id} in ${stateDir}`;
  throw new CommandError('notFound', `${why}; "millrace import list" shows them`);
}

/** Returns the newest directory of an identity, if any. */
export async function newestImport(stateDir: string, identity: string): Promise<ImportDir | undefined> {
  const own = (await listImports(stateDir)).filter(({ name }) => name.split('-')[0] === identity);
  return own.toSorted((left, right) => numberOf(right) - numberOf(left))[0];
}

function numberOf({ name }: ImportDir): number {
  return Number(name.split('-')[1] ?? 1);
}

/** Opens the newest directory of an identity; creates one if necessary, or with `again`. */
export async function openImport(stateDir: string, identity: string, again: boolean): Promise<ImportDir> {
  const newest = await newestImport(stateDir, identity);
  if (newest !== undefined && !again) return makeDirs(stateDir, newest.name);
  const number = newest === undefined ? 1 : numberOf(newest) + 1;
  return makeDirs(stateDir, number === 1 ? identity : `${identity}-${number}`);
}

async function makeDirs(stateDir: string, name: string): Promise<ImportDir> {
  const path = join(resolve(stateDir), name);
  await mkdir(join(path, 'staging'), { recursive: true, mode: 0o700 });
  await mkdir(join(path, 'temp'), { recursive: true, mode: 0o700 });
  // A started import keeps its id.
  if (!existsSync(join(path, descriptionFile))) await writeId(path);
  return importDir(stateDir, name);
}

/** Writes a new id atomically: of two commands that start at the same time, the first one's id stays. */
async function writeId(path: string): Promise<void> {
  const file = join(path, idFile);
  if (existsSync(file)) return;
  const id = newId();
  const made = `${file}.${id}`;
  await writeFile(made, id, { mode: 0o600 });
  try {
    await link(made, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(made);
  }
}

/** Tells whether the import has started. */
export function isBegun(dir: ImportDir): boolean {
  return existsSync(join(dir.path, descriptionFile));
}

/** Describes an import, which marks it as started. Called by the process that holds the lock, for each command. */
export async function describeImport(
  dir: ImportDir,
  { source, options, projectKey }: ImportRequest,
  command: GivenCommand,
): Promise<void> {
  const stored: StoredImport = {
    version: 1,
    source,
    format: options.format,
    url: options.target.kind === 'http' ? options.target.url : null,
    target_key: projectKey === undefined ? null : slowHash(projectKey),
    command,
  };
  const file = join(dir.path, descriptionFile);
  await writeFile(`${file}.new`, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Reads the description of a started import. */
export async function descriptionOf(dir: ImportDir): Promise<StoredImport> {
  return JSON.parse(await readFile(join(dir.path, descriptionFile), 'utf8')) as StoredImport;
}

/** The service that knows the run. */
export interface Registration {
  readonly url: string;
  /** Number of the project. */
  readonly project: string;
}

export async function saveRegistration({ path }: ImportDir, registration: Registration): Promise<void> {
  await writeFile(join(path, registrationFile), JSON.stringify(registration), { mode: 0o600 });
}

/** Returns the service that knows the run, if any. */
export async function registrationOf({ path }: ImportDir): Promise<Registration | undefined> {
  const file = join(path, registrationFile);
  return existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as Registration) : undefined;
}

/** Options to drop from the command of a trial for its full form. */
const limits: ReadonlySet<string> = new Set(['--limit', '--trial']);

/**
 * Returns the command that resumes an import, without secrets.
 *
 * @param whole drops the limit of a trial
 */
export async function commandOf(dir: ImportDir, { whole = false } = {}): Promise<string> {
  const { cwd, name, words } = (await descriptionOf(dir)).command;
  const given = words.filter(([flag = '']) => !(whole && limits.has(flag))).flat();
  const prefix = cwd === process.cwd() ? '' : `cd ${shellText([cwd])} && `;
  return `${prefix}${name} ${shellText(given)}`;
}
