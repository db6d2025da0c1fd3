import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { slowHash } from '../../base/slow-hash.ts';
import type { ImportChoice } from '../../contract/import-choice.ts';
import type { TimeRange } from '../../imports/source.ts';
import { CommandError } from '../exit-codes.ts';
import { choiceWords } from './choice-words.ts';
import { defaultStateDir } from './import-options.ts';
import type { ImportRequest } from './request.ts';

/** What an import of the command line is, kept beside its state. Holds no secret. */
export interface StoredImport {
  readonly version: 1;
  readonly source: string;
  readonly paths: readonly string[];
  /** Keys only, here and below: a value may be a secret. */
  readonly settings: readonly string[];
  readonly format: string;
  readonly format_options: readonly string[];
  readonly has_names: boolean;
  /** Absent: nothing was chosen. */
  readonly choose?: ImportChoice;
  /** Absent: none. Settings by their keys only. */
  readonly transform?: { readonly path: string; readonly settings: readonly string[] };
  readonly range: TimeRange;
  readonly limit: number | null;
  /** Address of the target; null: none was given. */
  readonly url: string | null;
  /** Of the project's key: a hash, so that imports to the same project are known. */
  readonly target_key: string | null;
  /** Left out by earlier versions. */
  readonly has_personal_key?: boolean;
}

/** The directory of one import: `<state dir>/<id>`. */
export interface ImportDir {
  /** The state directory that it is in. */
  readonly stateDir: string;
  /** The identity of the command, and from the second time on (`--again`) its number: `3f9c…`, `3f9c…-2`. */
  readonly id: string;
  readonly path: string;
  /** Of the metadata store. */
  readonly dataDir: string;
  readonly staging: string;
  readonly temp: string;
}

const descriptionFile = 'import.json';
const idPattern = /^[0-9a-f]{16}(-\d{1,4})?$/;

function importDir(stateDir: string, id: string): ImportDir {
  const path = join(resolve(stateDir), id);
  return { stateDir, id, path, dataDir: path, staging: join(path, 'staging'), temp: join(path, 'temp') };
}

/** Every import begun below a state directory. None when there is no such directory. */
export async function listImports(stateDir: string): Promise<ImportDir[]> {
  const names = existsSync(stateDir) ? await readdir(stateDir) : [];
  const ids = names.filter((name) => idPattern.test(name) && existsSync(join(stateDir, name, descriptionFile)));
  return ids.map((id) => importDir(stateDir, id));
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
  const own = (await listImports(stateDir)).filter(({ id }) => id.split('-')[0] === identity);
  return own.toSorted((left, right) => numberOf(right) - numberOf(left))[0];
}

function numberOf({ id }: ImportDir): number {
  return Number(id.split('-')[1] ?? 1);
}

/** The newest directory of this identity, or a new one. `again`: a new one in any case. */
export async function openImport(stateDir: string, identity: string, again: boolean): Promise<ImportDir> {
  const newest = await newestImport(stateDir, identity);
  if (newest !== undefined && !again) return madeDirs(newest);
  const number = newest === undefined ? 1 : numberOf(newest) + 1;
  return madeDirs(importDir(stateDir, number === 1 ? identity : `${identity}-${number}`));
}

async function madeDirs(dir: ImportDir): Promise<ImportDir> {
  await mkdir(dir.staging, { recursive: true, mode: 0o700 });
  await mkdir(dir.temp, { recursive: true, mode: 0o700 });
  return dir;
}

/** Whether anything was done in it. */
export function isBegun(dir: ImportDir): boolean {
  return existsSync(join(dir.path, descriptionFile));
}

/** From then on the import is one that was begun. By the process that holds it. */
export async function describeImport(
  dir: ImportDir,
  { source, paths, settings, options, transform, projectKey, apiKey }: ImportRequest,
): Promise<void> {
  if (isBegun(dir)) return;
  // What stands behind a question mark may be a signature that opens the address.
  const shown = paths.map((path) => (/^https?:/.test(path) ? path.replace(/\?.*$/s, '?…') : path));
  const stored: StoredImport = {
    version: 1,
    source,
    paths: shown,
    settings: Object.keys(settings),
    format: options.format,
    format_options: Object.keys(options.formatOptions),
    has_names: options.names !== undefined,
    ...(options.choice === undefined ? {} : { choose: options.choice }),
    ...(transform === undefined
      ? {}
      : { transform: { path: transform.path, settings: Object.keys(transform.settings) } }),
    range: options.range,
    limit: options.limit ?? null,
    url: options.target.kind === 'http' ? options.target.url : null,
    target_key: projectKey === undefined ? null : slowHash(projectKey),
    has_personal_key: apiKey !== undefined,
  };
  const file = join(dir.path, descriptionFile);
  await writeFile(`${file}.new`, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Of an import that `listImports` found. */
export async function descriptionOf(dir: ImportDir): Promise<StoredImport> {
  return JSON.parse(await readFile(join(dir.path, descriptionFile), 'utf8')) as StoredImport;
}

/** The command that goes on with it, without what is secret; `whole`: of a trial its full form. */
export async function commandOf(dir: ImportDir, { whole = false } = {}): Promise<string> {
  const stored = await descriptionOf(dir);
  const { format, range, limit, url } = stored;
  const stateDir = dirname(dir.path);
  const words = [
    'millrace',
    'import',
    format,
    ...stored.paths,
    ...(stored.source === 'files' ? [] : ['--source', stored.source]),
    ...stored.settings.flatMap((key) => ['--setting', `${key}=…`]),
    ...stored.format_options.flatMap((key) => ['--format-option', `${key}=…`]),
    ...(stored.has_names ? ['--names', '…'] : []),
    ...choiceWords(stored.choose ?? {}, range),
    ...(stored.transform === undefined ? [] : ['--transform', stored.transform.path]),
    ...(stored.transform?.settings ?? []).flatMap((key) => ['--transform-setting', `${key}=…`]),
    ...(range.from === undefined ? [] : ['--from-date', range.from]),
    ...(range.to === undefined ? [] : ['--to-date', range.to]),
    ...(limit === null || whole ? [] : ['--limit', String(limit)]),
    ...(url === null ? [] : ['--to', url]),
    '--project-key',
    '…',
    ...(stored.has_personal_key === true ? ['--api-key', '…'] : []),
    ...(stateDir === resolve(defaultStateDir) ? [] : ['--state-dir', stateDir]),
  ];
  return words.map((word) => (/^[\w@%+=:,./…-]+$/.test(word) ? word : quoted(word))).join(' ');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
