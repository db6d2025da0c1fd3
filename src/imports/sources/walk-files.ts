import { lstat, opendir, realpath, stat } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import { SourceError } from '../source.ts';
import { createNameMatcher, isNamePattern } from '../../base/file-pattern.ts';

/** Names that one search may look at. */
const looksMax = 1_000_000;

export interface WalkDeps {
  /** Throws for a directory that may not be read. It is given without links. */
  readonly mayEnter: (real: string, dir: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** A search for files, in one or several places, with one limit on what it looks at. */
export interface FileWalk {
  /** What matches a pattern without braces below `base`: files and directories, by name. `base` itself is taken as it is. */
  matches(base: string, pattern: string): Promise<string[]>;
  /** All files below a directory by name, without hidden ones. Links to files are files, those to directories are skipped. */
  below(dir: string): Promise<string[]>;
}

interface Step {
  readonly dir: string;
  /** Of the names of the pattern, those that are left. */
  readonly left: readonly string[];
}

const anyDirs = '**';

export function createFileWalk(deps: WalkDeps): FileWalk {
  const enter = createEntrance(deps);
  const list = createListing(enter, deps.signal);
  return {
    async matches(base, pattern) {
      const found = new Set<string>();
      const seen = new Set<string>();
      const steps: Step[] = [{ dir: base, left: namesOf(pattern) }];
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        const key = `${step.left.length}\0${step.dir}`;
        if (seen.has(key)) continue;
        seen.add(key);
        if (step.left.length === 0) found.add(step.dir);
        else for (const next of await stepsFrom(step, { list, enter })) steps.push(next);
      }
      return [...found].toSorted();
    },
    async below(dir) {
      const found: string[] = [];
      const dirs = [dir];
      for (let next = dirs.pop(); next !== undefined; next = dirs.pop()) {
        for (const entry of await list(next)) {
          const path = join(next, entry.name);
          if (isHidden(entry)) continue;
          if (entry.isDirectory()) dirs.push(path);
          else if (entry.isFile() || (entry.isSymbolicLink() && (await stat(path)).isFile())) found.push(path);
        }
      }
      return found.toSorted();
    },
  };
}

/** A directory stands for all that is below it, and so does `**` at the end. */
function namesOf(pattern: string): string[] {
  const names = pattern.split('/').filter((name) => name !== '' && name !== '.');
  const once = names.filter((name, index) => name !== anyDirs || names[index - 1] !== anyDirs);
  return once.at(-1) === anyDirs ? once.slice(0, -1) : once;
}

/** Rejects for a directory that is not there or may not be read. */
type Enter = (dir: string) => Promise<void>;
type List = (dir: string) => Promise<readonly Dirent[]>;

async function stepsFrom(
  { dir, left }: Step,
  { list, enter }: { readonly list: List; readonly enter: Enter },
): Promise<Step[]> {
  const [name = '', ...rest] = left;
  if (name === anyDirs) {
    const dirs = (await entriesOf(dir, list)).filter((entry) => entry.isDirectory() && !isHidden(entry));
    return [{ dir, left: rest }, ...dirs.map((entry) => ({ dir: join(dir, entry.name), left }))];
  }
  if (!isNamePattern(name)) {
    const path = join(dir, name);
    return (await isThere(path, enter)) ? [{ dir: path, left: rest }] : [];
  }
  const matches = createNameMatcher(name);
  const found = (await entriesOf(dir, list)).filter((entry) => matches(entry.name));
  return found.map((entry) => ({ dir: join(dir, entry.name), left: rest }));
}

/** None of what is no directory, or closed to us: a pattern says what is wanted, not what has to be there. */
async function entriesOf(dir: string, list: List): Promise<readonly Dirent[]> {
  try {
    return await list(dir);
  } catch (error) {
    if (isAbsence(error)) return [];
    throw error;
  }
}

async function isThere(path: string, enter: Enter): Promise<boolean> {
  try {
    await enter(dirname(path));
    await lstat(path);
    return true;
  } catch (error) {
    if (isAbsence(error)) return false;
    throw error;
  }
}

/** Each directory is resolved once: names of what lies behind a link are not looked at before that. */
function createEntrance({ mayEnter }: WalkDeps): Enter {
  const entered = new Set<string>();
  return async (dir) => {
    if (entered.has(dir)) return;
    mayEnter(await realpath(dir), dir);
    entered.add(dir);
  };
}

function createListing(enter: Enter, signal: AbortSignal | undefined): List {
  const known = new Map<string, readonly Dirent[]>();
  let looks = 0;
  const look = (entries = 1): void => {
    looks += entries;
    if (looks > looksMax) throw tooMany();
  };
  return async (dir) => {
    signal?.throwIfAborted();
    const before = known.get(dir);
    if (before !== undefined) {
      // They are gone through once more.
      look(before.length);
      return before;
    }
    await enter(dir);
    const entries: Dirent[] = [];
    for await (const entry of await opendir(dir)) {
      look();
      entries.push(entry);
    }
    known.set(dir, entries);
    return entries;
  };
}

function tooMany(): SourceError {
  return new SourceError(
    `expected a path that can be searched by looking at ${looksMax} names, got one with more below it: name directories further down`,
  );
}

function isHidden({ name }: Dirent): boolean {
  return name.startsWith('.');
}

const absences: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG']);

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && absences.has(error.code);
}
