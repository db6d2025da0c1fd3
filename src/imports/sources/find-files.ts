import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';
import { SourceError, type SourceHost, type UploadedFile } from '../source.ts';
import { wrongSetting } from '../../plugins/plugin.ts';
import { expandBraces, PatternError } from '../../base/file-pattern.ts';
import { createFileWalk, type FileWalk } from './walk-files.ts';
import { unfinishedSuffix } from '../unfinished-upload.ts';

/** A file to import. */
export interface FoundFile {
  /** Displayed name: the path, or `upload:name`. */
  readonly shown: string;
  /** Path without links. For a file on another machine the displayed name; `readablePath` returns a local copy. */
  readonly path: string;
  readonly bytes: number;
  /** Changes with the content: size, inode, and both times to the nanosecond; the second one cannot be set back. */
  readonly identity: string;
  /** ms since the epoch. */
  readonly modifiedAt: number;
}

type FilePlaces = Pick<SourceHost, 'allowedDirs' | 'uploadsDir' | 'uploads'>;

const uploadPrefix = 'upload:';
const pattern = /[*?[\]{}]/;
const upwards = /(^|[\\/])\.\.([\\/]|$)/;
const filesMax = 100_000;

/** Throws SettingsError for paths that are invalid regardless of the disk. */
export function checkPaths(paths: readonly string[], { allowedDirs, uploadsDir, uploads }: FilePlaces): void {
  if (paths.length === 0) throw wrongSetting('paths', 'expected at least one path, one per line');
  for (const path of paths) {
    if (path.includes('\0')) throw wrongSetting('paths', 'expected paths without zero bytes');
    const upload = path.startsWith(uploadPrefix) ? path.slice(uploadPrefix.length) : undefined;
    if (upload !== undefined && uploadsDir === undefined && uploads === undefined)
      throw wrongSetting('paths', `files cannot be uploaded here, got: ${path}`);
    if (upload !== undefined && /[\\/]/.test(upload))
      throw wrongSetting('paths', `expected ${uploadPrefix}name without a slash, got: ${path}`);
    const isFree = upload === undefined && allowedDirs === undefined;
    if (alternativesOf(upload ?? path).some((each) => upwards.test(each)) && !isFree)
      throw wrongSetting('paths', `expected a path without "..", got: ${path}`);
  }
}

/** Throws SettingsError if there are too many. */
function alternativesOf(path: string): string[] {
  try {
    return expandBraces(path);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw wrongSetting('paths', `${error.message} (${path.slice(0, 100)})`);
  }
}

/**
 * Returns the files of the paths, in the order of the paths and sorted by name within each, without repetitions.
 * @throws SourceError if a path has no file, or one outside of the allowed directories
 */
export async function findFiles(
  paths: readonly string[],
  places: FilePlaces,
  signal?: AbortSignal,
): Promise<FoundFile[]> {
  const found = new Map<string, FoundFile>();
  const search = createSearch(places, signal);
  for (const path of paths) {
    const named = await filesOf(path, places, search);
    if (named.length === 0) throw await noFileAt(path, places, search);
    refuseUnfinished(named);
    for (const file of named) if (!found.has(file.path)) found.set(file.path, file);
    if (found.size > filesMax) throw tooManyFiles();
  }
  return [...found.values()];
}

async function noFileAt(
  path: string,
  places: FilePlaces,
  search: (path: string) => Promise<FileSearch>,
): Promise<SourceError> {
  if (path.startsWith(uploadPrefix)) refuseUnfinished(await filesOf(path + unfinishedSuffix, places, search));
  return new SourceError(
    (await isDirectory(path, places, search))
      ? `expected files in the directory ${path}, found none: check the path`
      : `expected a file at ${path}, found none: check the path or the pattern`,
  );
}

async function isDirectory(
  path: string,
  places: FilePlaces,
  search: (path: string) => Promise<FileSearch>,
): Promise<boolean> {
  if (path.startsWith(uploadPrefix)) return false;
  const { mayEnter } = await search(path);
  for (const [base, below] of placesOf(path, places)) {
    if ((await exists(base, below, mayEnter)) && (await stat(join(base, below))).isDirectory()) return true;
  }
  return false;
}

/** An unfinished upload must not be imported as a whole file. */
function refuseUnfinished(files: readonly FoundFile[]): void {
  const unfinished = files.find(({ shown }) => shown.startsWith(uploadPrefix) && shown.endsWith(unfinishedSuffix));
  if (unfinished === undefined) return;
  const { shown, bytes } = unfinished;
  throw new SourceError(
    `expected ${shown.slice(0, -unfinishedSuffix.length)} to be uploaded as a whole, got its first ${bytes} bytes: ` +
      'complete the upload, or delete the file',
  );
}

/** Returns the current state of a file. Throws SourceError if it is missing, not a file, or is not allowed to be read. */
export async function statFile(path: string, shown: string, places: FilePlaces): Promise<FoundFile> {
  const name = uploadedElsewhere(shown, places);
  if (name !== undefined) return await statUpload(name, shown, places);
  try {
    const real = await realpath(path);
    const roots = await rootsOf(shown, places);
    if (roots !== undefined && !roots.some((root) => isInside(root, real))) throw outside(shown, places);
    const about = await stat(real, { bigint: true });
    if (!about.isFile())
      throw new SourceError(`expected a file at ${shown}, got something else (a device or a socket)`);
    await access(real, constants.R_OK);
    const { size, mtimeNs, ctimeNs, ino, mtimeMs } = about;
    const identity = [size, mtimeNs, ctimeNs, ino].join('-');
    return { shown, path: real, bytes: Number(size), identity, modifiedAt: Number(mtimeMs) };
  } catch (error) {
    throw asSourceError(error, shown);
  }
}

/** Returns where the file can be read: its path or a local copy. Throws SourceError if it is missing. */
export async function readablePath(
  { path, shown }: Pick<FoundFile, 'path' | 'shown'>,
  places: FilePlaces,
): Promise<string> {
  const name = uploadedElsewhere(shown, places);
  return name === undefined || places.uploads === undefined ? path : await places.uploads.copy(name);
}

/** Returns `undefined` for a file on this machine. */
function uploadedElsewhere(shown: string, { uploads }: FilePlaces): string | undefined {
  return uploads !== undefined && shown.startsWith(uploadPrefix) ? shown.slice(uploadPrefix.length) : undefined;
}

async function statUpload(name: string, shown: string, { uploads }: FilePlaces): Promise<FoundFile> {
  const file = (await uploads?.find(name))?.find((each) => each.name === name);
  if (file === undefined) throw new SourceError(`expected a file at ${shown}, found none`);
  return foundUpload(file);
}

function foundUpload({ name, bytes, identity, modifiedAt }: UploadedFile): FoundFile {
  const shown = uploadPrefix + name;
  return { shown, path: shown, bytes, identity, modifiedAt };
}

/** Shortens a key to the limit of part keys; different long paths stay different. */
export function shortKey(text: string): string {
  if (text.length <= 500) return text;
  return `${text.slice(0, 200)}…${text.slice(-260)} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

interface FileSearch {
  readonly walk: FileWalk;
  /** Throws for paths outside of the allowed directories. */
  readonly mayEnter: (real: string, dir: string) => void;
}

/** Shared by all paths, so that many paths cannot evade the limits of a search. */
function createSearch(places: FilePlaces, signal: AbortSignal | undefined): (path: string) => Promise<FileSearch> {
  const open = async (path: string): Promise<FileSearch> => {
    const roots = await rootsOf(path, places);
    const mayEnter = (real: string, dir: string): void => {
      if (roots?.some((root) => isWithin(root, real)) === false) throw outside(dir, places);
    };
    return { walk: createFileWalk({ mayEnter, signal }), mayEnter };
  };
  let uploads: Promise<FileSearch> | undefined;
  let dirs: Promise<FileSearch> | undefined;
  return (path) => (path.startsWith(uploadPrefix) ? (uploads ??= open(path)) : (dirs ??= open(path)));
}

async function filesOf(
  path: string,
  places: FilePlaces,
  search: (path: string) => Promise<FileSearch>,
): Promise<FoundFile[]> {
  const upload = uploadedElsewhere(path, places);
  if (upload !== undefined) return ((await places.uploads?.find(upload)) ?? []).map(foundUpload);
  if (path.startsWith(uploadPrefix)) {
    const dir = places.uploadsDir ?? '';
    const files = await expand(dir, path.slice(uploadPrefix.length), await search(path));
    return await statAll(files, places, (file) => uploadPrefix + relative(dir, file));
  }
  if (places.allowedDirs?.length === 0) throw outside(path, places);
  const found: FoundFile[] = [];
  for (const [base, below] of placesOf(path, places)) {
    const files = await expand(base, below, await search(path));
    found.push(...(await statAll(files, places, (file) => file)));
  }
  return found;
}

/** Returns directories, with the rest of the path below each. Rejects other places before accessing the disk. */
function placesOf(path: string, places: FilePlaces): readonly (readonly [base: string, below: string])[] {
  const { allowedDirs } = places;
  if (!isAbsolute(path)) return (allowedDirs ?? ['.']).map((dir) => [resolve(dir), path]);
  if (allowedDirs === undefined) return [[parse(path).root, relative(parse(path).root, path)]];
  const base = allowedDirs.map((dir) => resolve(dir)).find((dir) => isWithin(dir, path));
  if (base === undefined) throw outside(path, places);
  return [[base, relative(base, path)]];
}

async function statAll(
  files: readonly string[],
  places: FilePlaces,
  shown: (file: string) => string,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const file of files) found.push(await statFile(file, shown(file), places));
  return found;
}

/** An existing path is used literally, even if it looks like a pattern. A directory includes all files below it. */
async function expand(base: string, below: string, { walk, mayEnter }: FileSearch): Promise<string[]> {
  const path = join(base, below);
  try {
    const isFile = await exists(base, below, mayEnter);
    const files = new Set<string>();
    for (const each of isFile || !pattern.test(below) ? [] : expandBraces(below)) {
      for (const match of await walk.matches(base, each)) {
        for (const file of await filesAt(match, walk)) files.add(file);
        if (files.size > filesMax) throw tooManyFiles();
      }
    }
    return isFile ? await filesAt(path, walk) : [...files];
  } catch (error) {
    throw asSourceError(error, path);
  }
}

function tooManyFiles(): SourceError {
  return new SourceError(`expected at most ${filesMax} files, got more: import them in several runs`);
}

/** Reveals nothing about other places, where a link may lead. */
async function exists(base: string, below: string, mayEnter: FileSearch['mayEnter']): Promise<boolean> {
  const path = join(base, below);
  try {
    if (relative(base, path) !== '') mayEnter(await realpath(dirname(path)), path);
    await lstat(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'ENAMETOOLONG')) return false;
    throw error;
  }
}

async function filesAt(path: string, walk: FileWalk): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const files = await walk.below(path);
  if (files.length > filesMax) throw tooManyFiles();
  return files;
}

/** Returns `undefined` if every place may be read. */
async function rootsOf(shown: string, { allowedDirs, uploadsDir }: FilePlaces): Promise<string[] | undefined> {
  const dirs = shown.startsWith(uploadPrefix) ? [uploadsDir ?? ''] : allowedDirs;
  if (dirs === undefined) return undefined;
  const roots = await Promise.all(dirs.filter((dir) => dir !== '').map(realOf));
  return roots.filter((root) => root !== undefined);
}

/** Returns `undefined` if it does not exist. */
async function realOf(dir: string): Promise<string | undefined> {
  try {
    return await realpath(dir);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isInside(root: string, path: string): boolean {
  return relative(root, path) !== '' && isWithin(root, path);
}

/** Includes the root itself. */
function isWithin(root: string, path: string): boolean {
  const rest = relative(root, path);
  return rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest);
}

function outside(shown: string, { allowedDirs = [] }: FilePlaces): SourceError {
  const places =
    allowedDirs.length === 0
      ? 'this service reads no directory'
      : `only files in ${allowedDirs.join(', ')} may be read`;
  return new SourceError(
    `${shown} is not allowed to be read: ${places}; upload the file, or ask an operator to allow its directory`,
  );
}

function asSourceError(error: unknown, shown: string): unknown {
  if (hasCode(error, 'ENOENT')) return new SourceError(`expected a file at ${shown}, found none`, { cause: error });
  if (hasCode(error, 'EACCES') || hasCode(error, 'EPERM')) {
    return new SourceError(`${shown} cannot be read: permission denied; allow the user that runs Millrace to read it`, {
      cause: error,
    });
  }
  if (hasCode(error, 'ELOOP')) return new SourceError(`${shown} cannot be read: symbolic link loop`, { cause: error });
  return error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
