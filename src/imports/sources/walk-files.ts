import { lstat, opendir, realpath, stat } from 'node:fs/promises';
import type { Dirent } from 'node:fs';
import { dirname, join } from 'node:path';
import { SourceError } from '../source.ts';
import { createNameMatcher, isNamePattern } from '../../base/file-pattern.ts';

/** Maximum of names that one search may examine. */
const namesMax = 1_000_000;

interface WalkDeps {
  /** Throws for a directory that is not allowed to be read. `real` is its path without links. */
  readonly mayEnter: (real: string, dir: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** A search for files in one or more places, with one limit on the names examined. */
export interface FileWalk {
  /** Returns files and directories below `base` that match a pattern without braces, sorted by name. `base` itself is literal. */
  matches(base: string, pattern: string): Promise<string[]>;
  /**
   * Returns all files below a directory sorted by name, without hidden ones. Links to files count as files, links to directories
   * are skipped.
   */
  below(dir: string): Promise<string[]>;
}

interface Step {
  readonly dir: string;
  /** Remaining names of the pattern. */
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

/** A directory includes everything below it, so a trailing `**` is redundant. */
function namesOf(pattern: string): string[] {
  const names = pattern.split('/').filter((name) => name !== '' && name !== '.');
  const once = names.filter((name, index) => name !== anyDirs || names[index - 1] !== anyDirs);
  return once.at(-1) === anyDirs ? once.slice(0, -1) : once;
}

/** Rejects for a directory that is missing or is not allowed to be read. */
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

/** Returns no entries for a missing or inaccessible directory: a pattern does not require matches. */
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

/** Resolves each directory once, before examining names behind a link. */
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
  let examined = 0;
  const count = (entries = 1): void => {
    examined += entries;
    if (examined > namesMax) throw tooMany();
  };
  return async (dir) => {
    signal?.throwIfAborted();
    const before = known.get(dir);
    if (before !== undefined) {
      // They are examined once more.
      count(before.length);
      return before;
    }
    await enter(dir);
    const entries: Dirent[] = [];
    for await (const entry of await opendir(dir)) {
      count();
      entries.push(entry);
    }
    known.set(dir, entries);
    return entries;
  };
}

function tooMany(): SourceError {
  return new SourceError(
    `expected a path with at most ${namesMax} names to search, got more: name directories further down`,
  );
}

function isHidden({ name }: Dirent): boolean {
  return name.startsWith('.');
}

const absences: ReadonlySet<unknown> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'EPERM', 'ELOOP', 'ENAMETOOLONG']);

function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && absences.has(error.code);
}
