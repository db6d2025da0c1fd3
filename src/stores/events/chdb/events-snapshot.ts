import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  type Dirent,
} from 'node:fs';
import { basename, dirname, join, parse } from 'node:path';
import { linkTree, unlessGone } from '../../../base/link-tree.ts';
import { isRunTable } from '../run-table-names.ts';
import { keepTokensOf, readPartName, uncovered } from './part-names.ts';

/**
 * Copies the engine's directory at one moment, whether or not the engine is running. The engine never changes a file of a part, so hard
 * links of the files are a copy; everything else is small.
 *
 * The engine may remove merged or mutated parts at any time, many at once: it renames the part's directory and then removes the files.
 * The part that replaces it got its name before.
 *
 * Tables of runs are excluded: they are created and dropped in the meantime, and may be as large as all events. A run whose tables are
 * missing creates them again.
 *
 * Call `gather` any number of times, then `fix`, which defines the moment, then `finish`.
 */
export interface EventsSnapshot {
  /** Links the parts that are new since the last call. */
  gather(): void;
  /**
   * Fixes the content of the copy. Rows of an insert in progress are in it or not, as after a crash; its token is included only with
   * them. Takes milliseconds when most parts were gathered.
   */
  fix(): void;
  /** Removes everything that the engine would not read. */
  finish(): void;
}

/** Not stored data: the lock of the process, its temporary files, and tables that are being dropped. */
const excluded = new Set(['status', 'tmp', 'metadata_dropped']);
const tokensDir = 'deduplication_logs';
/** Parts that the engine has set aside. */
const asideDir = 'detached';
const pollsMax = 20;

/** Creates `to`. A missing directory is an empty store. `linkPart` does what `linkTree` does. */
export function createEventsSnapshot(from: string, to: string, linkPart = linkTree): EventsSnapshot {
  /** Path of a completely copied part below `from` → its inode, since the engine may reuse a name. */
  const linked = new Map<string, number>();
  /** Path of a table → its parts at the moment. */
  const fixed = new Map<string, readonly string[]>();
  const inodeOf = (part: string): number | undefined => statSync(join(from, part), { throwIfNoEntry: false })?.ino;
  const link = (part: string): boolean => {
    const inode = inodeOf(part);
    if (linked.has(part) && (inode === undefined || linked.get(part) === inode)) return true;
    drop(part);
    if (inode === undefined) return false;
    // A part that still has its name afterwards was complete all the time.
    if (linkPart(join(from, part), join(to, part)) && inodeOf(part) === inode) linked.set(part, inode);
    else drop(part);
    return linked.has(part);
  };
  /** Removes a possibly incomplete copy. */
  const drop = (part: string): void => {
    linked.delete(part);
    rmSync(join(to, part), { recursive: true, force: true });
  };
  /** Links the parts with the table's rows, and adds the complete ones. Returns false if one was removed before. */
  const linkParts = (table: string, whole: Set<string>): boolean => {
    const names = uncovered(partsIn(join(from, table)));
    const here = names.filter((name) => link(join(table, name)));
    for (const name of here) whole.add(name);
    return here.length === names.length;
  };
  return {
    gather() {
      for (const table of tablesIn(from)) linkParts(table, new Set());
    },
    fix() {
      for (const table of tablesIn(from)) fixed.set(table, fixedParts(table, linkParts));
      // After the parts: for each of them its token was written before it got its name.
      copyRest({ from, to, tables: new Set(fixed.keys()), databases: new Set(databasesIn(from)) }, '');
    },
    finish() {
      const kept = new Set([...fixed].flatMap(([table, names]) => names.map((name) => join(table, name))));
      for (const part of linked.keys()) if (!kept.has(part)) drop(part);
      for (const [table, names] of fixed) keepTokens(join(to, table, tokensDir), names);
    },
  };
}

/**
 * Lists the parts at one moment. A directory listing is not atomic: while it is read, a part may be removed that it has not reached, and
 * the part that replaces it may appear where the listing has been. So there is a second listing, which has that part. Other changes in
 * the meantime do not matter: a linked part has its rows, and parts that were merged or mutated since are covered by their results.
 */
function fixedParts(table: string, linkParts: (table: string, whole: Set<string>) => boolean): readonly string[] {
  const whole = new Set<string>();
  for (let polls = 1; polls <= pollsMax; polls++) {
    const isWhole = linkParts(table, whole);
    if (isWhole && polls > 1) return uncovered([...whole]);
  }
  throw new Error(
    `expected the parts of ${table} to stay unchanged for a moment, got others in each of ${pollsMax} attempts; try again later`,
  );
}

/** Returns the tables with parts below the engine's directory that have a name, which is a link to them. */
function tablesIn(dir: string): string[] {
  const links = entriesOf(join(dir, 'data')).flatMap(({ name: database }) =>
    entriesOf(join(dir, 'data', database)).map(({ name }) => join('data', database, name)),
  );
  return links.filter((link) => !isRunTable(basename(link))).map((link) => placeOf(dir, link));
}

/** Returns the directories with the statements of the databases' tables. */
function databasesIn(dir: string): string[] {
  const links = entriesOf(join(dir, 'metadata')).filter((entry) => entry.isSymbolicLink());
  return links.map(({ name }) => placeOf(dir, join('metadata', name)));
}

/** `store/8b6/8b69a3aa-…`. */
function placeOf(dir: string, link: string): string {
  return join(dirname(link), readlinkSync(join(dir, link)));
}

const place = /^store\/[^/]+\/[^/]+$/;

function partsIn(table: string): string[] {
  return entriesOf(table)
    .filter((entry) => entry.isDirectory() && readPartName(entry.name) !== undefined)
    .map(({ name }) => name);
}

/** Returns no entries for a missing directory. */
function entriesOf(dir: string): Dirent[] {
  let entries: Dirent[] = [];
  unlessGone(() => (entries = readdirSync(dir, { withFileTypes: true })));
  return entries;
}

interface Copied {
  readonly from: string;
  readonly to: string;
  readonly tables: ReadonlySet<string>;
  readonly databases: ReadonlySet<string>;
}

/** Copies other files. Files that disappear in the meantime, such as temporary files of the engine, are skipped. */
function copyRest(copied: Copied, path: string): void {
  const { from, to, tables, databases } = copied;
  if (!existsSync(join(from, path))) return;
  mkdirSync(join(to, path), { recursive: true, mode: 0o700 });
  for (const entry of entriesOf(join(from, path))) {
    const inner = join(path, entry.name);
    const [source, copy] = [join(from, inner), join(to, inner)];
    if (path === '' && excluded.has(entry.name)) continue;
    // A table of a run, or one that is being created or dropped.
    if (isRunTable(parse(entry.name).name)) continue;
    if (place.test(inner) && !tables.has(inner) && !databases.has(inner)) continue;
    if (entry.isSymbolicLink()) unlessGone(() => symlinkSync(readlinkSync(source), copy));
    else if (entry.isFile()) unlessGone(() => copyFileSync(source, copy));
    else if (!entry.isDirectory()) continue;
    else if (!tables.has(path)) copyRest(copied, inner);
    else if (entry.name === tokensDir) copyTokens(source, copy);
    else if (entry.name === asideDir) linkTree(source, copy);
  }
}

/** Copies the token log; the engine starts a new file, and removes an old one, from time to time. */
function copyTokens(from: string, to: string): void {
  const namesIn = (dir: string): string[] => entriesOf(dir).map(({ name }) => name);
  for (let polls = 0; polls < pollsMax; polls++) {
    const names = namesIn(from);
    mkdirSync(to, { recursive: true, mode: 0o700 });
    for (const name of names) unlessGone(() => copyFileSync(join(from, name), join(to, name)));
    if (namesIn(from).join() === names.join()) return;
    rmSync(to, { recursive: true });
  }
  throw new Error(`expected ${from} to stay unchanged for a moment, got other files in each of ${pollsMax} attempts`);
}

function keepTokens(dir: string, parts: readonly string[]): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir)) {
    const file = join(dir, name);
    writeFileSync(file, keepTokensOf(parts, readFileSync(file, 'utf8')));
  }
}
