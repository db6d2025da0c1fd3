import { createHash } from 'node:crypto';
import { glob, lstat, readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { SourceError, type SourceHost, type UploadedFile } from '../source.ts';
import { wrongSetting } from '../../plugins/plugin.ts';

/** A file to import. */
export interface FoundFile {
  /** As people know it: the path, or `upload:name`. */
  readonly shown: string;
  /** Without links. Of a file that is not on this machine as it is shown; `readablePath` says where it can be read. */
  readonly path: string;
  readonly bytes: number;
  /** Changes when the content does: size, inode, and both times to the nanosecond; nobody can set the second one back. */
  readonly identity: string;
  /** ms since the epoch. */
  readonly modifiedAt: number;
}

export type FilePlaces = Pick<SourceHost, 'allowedDirs' | 'uploadsDir' | 'uploads'>;

export const uploadPrefix = 'upload:';
const pattern = /[*?[\]{}]/;
/** Also within braces of a pattern. */
const upwards = /(^|[\\/{,])\.\.([\\/},]|$)/;
const filesMax = 100_000;

/** Throws SettingsError for what can be seen to be wrong without looking at the disk. */
export function checkPaths(paths: readonly string[], { allowedDirs, uploadsDir, uploads }: FilePlaces): void {
  if (paths.length === 0) throw wrongSetting('paths', 'expected at least one path, one a line');
  for (const path of paths) {
    if (path.includes('\0')) throw wrongSetting('paths', 'expected paths without zero bytes');
    if (path.startsWith(uploadPrefix)) {
      if (uploadsDir === undefined && uploads === undefined)
        throw wrongSetting('paths', `files cannot be uploaded here, got: ${path}`);
      if (/[\\/]/.test(path)) throw wrongSetting('paths', `expected ${uploadPrefix}name without a slash, got: ${path}`);
    } else if (allowedDirs !== undefined && upwards.test(path)) {
      throw wrongSetting('paths', `expected a path without "..", got: ${path}`);
    }
  }
}

/**
 * The files that the paths name, in the order of the paths and sorted by name within each; each once.
 * @throws SourceError when a path names nothing, or something outside of the directories that may be read
 */
export async function findFiles(paths: readonly string[], places: FilePlaces): Promise<FoundFile[]> {
  const found = new Map<string, FoundFile>();
  for (const path of paths) {
    const named = await filesOf(path, places);
    if (named.length === 0)
      throw new SourceError(`expected a file at ${path}, found none: check the path or the pattern`);
    for (const file of named) if (!found.has(file.path)) found.set(file.path, file);
    if (found.size > filesMax)
      throw new SourceError(`expected at most ${filesMax} files, got more: import them in several runs`);
  }
  return [...found.values()];
}

/** A file as it is now. Throws SourceError when it is gone, is none or may not be read. */
export async function lookAt(path: string, shown: string, places: FilePlaces): Promise<FoundFile> {
  const name = uploadedElsewhere(shown, places);
  if (name !== undefined) return await lookAtUpload(name, shown, places);
  try {
    const real = await realpath(path);
    const roots = await rootsOf(shown, places);
    if (roots !== undefined && !roots.some((root) => isInside(root, real))) throw outside(shown, places);
    const about = await stat(real, { bigint: true });
    if (!about.isFile())
      throw new SourceError(`expected a file at ${shown}, got something else (a device or a socket)`);
    const { size, mtimeNs, ctimeNs, ino, mtimeMs } = about;
    const identity = [size, mtimeNs, ctimeNs, ino].join('-');
    return { shown, path: real, bytes: Number(size), identity, modifiedAt: Number(mtimeMs) };
  } catch (error) {
    throw asSourceError(error, shown);
  }
}

/** Where the bytes of a file can be read: at its path, or in a copy of it. Throws SourceError when it is gone. */
export async function readablePath(
  { path, shown }: Pick<FoundFile, 'path' | 'shown'>,
  places: FilePlaces,
): Promise<string> {
  const name = uploadedElsewhere(shown, places);
  return name === undefined || places.uploads === undefined ? path : await places.uploads.copy(name);
}

/** Undefined: it lies on this machine. */
function uploadedElsewhere(shown: string, { uploads }: FilePlaces): string | undefined {
  return uploads !== undefined && shown.startsWith(uploadPrefix) ? shown.slice(uploadPrefix.length) : undefined;
}

async function lookAtUpload(name: string, shown: string, { uploads }: FilePlaces): Promise<FoundFile> {
  const file = (await uploads?.find(name))?.find((each) => each.name === name);
  if (file === undefined) throw new SourceError(`expected a file at ${shown}, found none`);
  return foundUpload(file);
}

function foundUpload({ name, bytes, identity, modifiedAt }: UploadedFile): FoundFile {
  const shown = uploadPrefix + name;
  return { shown, path: shown, bytes, identity, modifiedAt };
}

/** At most as long as a part's key may be; two long paths do not become one. */
export function shortKey(text: string): string {
  if (text.length <= 500) return text;
  return `${text.slice(0, 200)}…${text.slice(-260)} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}

async function filesOf(path: string, places: FilePlaces): Promise<FoundFile[]> {
  const upload = uploadedElsewhere(path, places);
  if (upload !== undefined) return ((await places.uploads?.find(upload)) ?? []).map(foundUpload);
  if (path.startsWith(uploadPrefix)) {
    const dir = places.uploadsDir ?? '';
    const files = await expand(join(dir, path.slice(uploadPrefix.length)));
    return await lookAtAll(files, places, (file) => uploadPrefix + relative(dir, file));
  }
  const { allowedDirs } = places;
  if (allowedDirs?.length === 0) throw outside(path, places);
  // Before the disk is asked, so that nobody learns what lies elsewhere.
  if (
    isAbsolute(path) &&
    allowedDirs?.some((dir) => isInside(resolve(dir), path) || resolve(dir) === resolve(path)) === false
  ) {
    throw outside(path, places);
  }
  const bases = isAbsolute(path) || allowedDirs === undefined ? [''] : allowedDirs;
  const files = (await Promise.all(bases.map((base) => expand(resolve(base, path))))).flat();
  return await lookAtAll(files, places, (file) => file);
}

async function lookAtAll(
  files: readonly string[],
  places: FilePlaces,
  shown: (file: string) => string,
): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  for (const file of files) found.push(await lookAt(file, shown(file), places));
  return found;
}

/** A path that exists is taken as it is, also where its name looks like a pattern. */
async function expand(path: string): Promise<string[]> {
  if (await exists(path)) return await filesAt(path);
  if (!pattern.test(path)) return [];
  const matches: string[] = [];
  for await (const match of glob(path)) {
    matches.push(match);
    if (matches.length > filesMax) break;
  }
  const files = await Promise.all(matches.toSorted().map(filesAt));
  return files.flat();
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'ENAMETOOLONG')) return false;
    throw asSourceError(error, path);
  }
}

/** A directory stands for all files below it but hidden ones; links to files are files, those to directories are left out. */
async function filesAt(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const found: string[] = [];
    for (const entry of await readdir(path, { withFileTypes: true, recursive: true })) {
      const file = join(entry.parentPath, entry.name);
      if (relative(path, file).split(sep).some(isHidden)) continue;
      if (entry.isFile() || (entry.isSymbolicLink() && (await stat(file)).isFile())) found.push(file);
    }
    return found.toSorted();
  } catch (error) {
    throw asSourceError(error, path);
  }
}

function isHidden(name: string): boolean {
  return name.startsWith('.');
}

/** Undefined: every place may be read. */
async function rootsOf(shown: string, { allowedDirs, uploadsDir }: FilePlaces): Promise<string[] | undefined> {
  const dirs = shown.startsWith(uploadPrefix) ? [uploadsDir ?? ''] : allowedDirs;
  if (dirs === undefined) return undefined;
  return await Promise.all(dirs.filter((dir) => dir !== '').map((dir) => realpath(dir)));
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function outside(shown: string, { allowedDirs = [] }: FilePlaces): SourceError {
  const places =
    allowedDirs.length === 0
      ? 'this service reads no directory'
      : `only files in ${allowedDirs.join(', ')} may be read`;
  return new SourceError(
    `${shown} may not be read: ${places}; upload the file, or ask an operator to allow its directory`,
  );
}

function asSourceError(error: unknown, shown: string): unknown {
  if (hasCode(error, 'ENOENT')) return new SourceError(`expected a file at ${shown}, found none`, { cause: error });
  if (hasCode(error, 'EACCES') || hasCode(error, 'EPERM')) {
    return new SourceError(`${shown} cannot be read: the service has no right to; change its permissions`, {
      cause: error,
    });
  }
  if (hasCode(error, 'ELOOP'))
    return new SourceError(`${shown} cannot be read: its links lead in a circle`, { cause: error });
  return error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
