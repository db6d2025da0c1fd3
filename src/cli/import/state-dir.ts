import { existsSync } from 'node:fs';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { newId } from '../../base/ids.ts';
import { slowHash } from '../../base/slow-hash.ts';
import { CommandError } from '../exit-codes.ts';
import { shellText, type WordGroup } from '../given-words.ts';
import type { ImportRequest } from './request.ts';

/** What an import of the command line is, kept beside its state. Holds no secret. */
export interface StoredImport {
  readonly version: 1;
  readonly source: string;
  readonly format: string;
  /** Address of the target; null: none was given. */
  readonly url: string | null;
  /** Of the project's key: a hash, so that imports to the same project are known. */
  readonly target_key: string | null;
  /** The command that was given last. */
  readonly command: GivenCommand;
}

/** A command as it was typed, with placeholders for what is secret. */
export interface GivenCommand {
  /** Its working directory: paths in it may be relative. */
  readonly cwd: string;
  /** In front of the arguments: `millrace import`. */
  readonly name: string;
  readonly words: readonly WordGroup[];
}

/** The directory of one import: `<state dir>/<name>`. */
export interface ImportDir {
  /** The state directory that it is in. */
  readonly stateDir: string;
  /** The identity of the command, and from the second time on (`--again`) its number: `3f9c…`, `3f9c…-2`. */
  readonly name: string;
  /** Of its run, which its events bear: no other import has it, on no machine. */
  readonly id: string;
  readonly path: string;
  /** Of the metadata store. */
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

/** One begun before ids were kept in a file has its name as its id. */
async function idOf(path: string, name: string): Promise<string> {
  const file = join(path, idFile);
  return existsSync(file) ? await readFile(file, 'utf8') : name;
}

/** Every import begun below a state directory. None when there is no such directory. */
export async function listImports(stateDir: string): Promise<ImportDir[]> {
  const names = existsSync(stateDir) ? await readdir(stateDir) : [];
  const begun = names.filter((name) => namePattern.test(name) && existsSync(join(stateDir, name, descriptionFile)));
  return Promise.all(begun.map((name) => importDir(stateDir, name)));
}

/** Errors: notFound. */
export async function findImport(stateDir: string, id: string): Promise<ImportDir> {
  const all = await listImports(stateDir);
  const found = all.filter((each) => each.id.startsWith(id));
  const first = found.find((each) => found.length === 1 || each.id === id);
  if (first !== undefined && id !== '') return first;
  const why = found.length > 1 ? 'expected more of the id' : `no import ${id} below ${stateDir}`;
  throw new CommandError('notFound', `${why}; "millrace import list" shows them`);
}

/** The newest directory of this identity; undefined: there is none. */
export async function newestImport(stateDir: string, identity: string): Promise<ImportDir | undefined> {
  const own = (await listImports(stateDir)).filter(({ name }) => name.split('-')[0] === identity);
  return own.toSorted((left, right) => numberOf(right) - numberOf(left))[0];
}

function numberOf({ name }: ImportDir): number {
  return Number(name.split('-')[1] ?? 1);
}

/** The newest directory of this identity, or a new one. `again`: a new one in any case. */
export async function openImport(stateDir: string, identity: string, again: boolean): Promise<ImportDir> {
  const newest = await newestImport(stateDir, identity);
  if (newest !== undefined && !again) return madeDirs(stateDir, newest.name);
  const number = newest === undefined ? 1 : numberOf(newest) + 1;
  return madeDirs(stateDir, number === 1 ? identity : `${identity}-${number}`);
}

async function madeDirs(stateDir: string, name: string): Promise<ImportDir> {
  const path = join(resolve(stateDir), name);
  await mkdir(join(path, 'staging'), { recursive: true, mode: 0o700 });
  await mkdir(join(path, 'temp'), { recursive: true, mode: 0o700 });
  // One that was begun keeps the id that it has.
  if (!existsSync(join(path, descriptionFile))) await giveId(path);
  return importDir(stateDir, name);
}

/** Of two commands that begin at once the first one's id stays, and is whole when it is read. */
async function giveId(path: string): Promise<void> {
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

/** Whether anything was done in it. */
export function isBegun(dir: ImportDir): boolean {
  return existsSync(join(dir.path, descriptionFile));
}

/** From then on the import is one that was begun. By the process that holds it, each time that its command is given. */
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

/** Of an import that `listImports` found. */
export async function descriptionOf(dir: ImportDir): Promise<StoredImport> {
  return JSON.parse(await readFile(join(dir.path, descriptionFile), 'utf8')) as StoredImport;
}

/** Where the run is known: in the service that it loads into. */
export interface Registration {
  readonly url: string;
  /** Number of the project. */
  readonly project: string;
}

export async function saveRegistration({ path }: ImportDir, registration: Registration): Promise<void> {
  await writeFile(join(path, registrationFile), JSON.stringify(registration), { mode: 0o600 });
}

/** Undefined: no service knows the run. */
export async function registrationOf({ path }: ImportDir): Promise<Registration | undefined> {
  const file = join(path, registrationFile);
  return existsSync(file) ? (JSON.parse(await readFile(file, 'utf8')) as Registration) : undefined;
}

/** Of a trial its full form is the same command without these. */
const limits: ReadonlySet<string> = new Set(['--limit', '--trial']);

/** The command that resumes it, without what is secret; `whole`: of a trial its full form. */
export async function commandOf(dir: ImportDir, { whole = false } = {}): Promise<string> {
  const { cwd, name, words } = (await descriptionOf(dir)).command;
  const given = words.filter(([flag = '']) => !(whole && limits.has(flag))).flat();
  const there = cwd === process.cwd() ? '' : `cd ${shellText([cwd])} && `;
  return `${there}${name} ${shellText(given)}`;
}
