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
 * A copy of the engine's directory as it is at one moment, whether or not the engine works in it. The engine never changes a file of a
 * part, so second names of the files are a copy; all else is small.
 *
 * A part that was merged or changed it may remove at any time, many of them at once: it renames the part's directory and then removes
 * the files. The part that has the rows by then got its name before.
 *
 * Tables of runs are not in it: they come and go while it is made, and may be as large as all events. A run whose tables are missing
 * makes them again.
 *
 * In this order: `gather`, as often as one likes; `settle`, which is the moment; `finish`.
 */
export interface EventsSnapshot {
  /** Links the parts that have come since the last time. */
  gather(): void;
  /**
   * What the copy holds is settled. Rows of an insert that is at work are in it or not, as after a crash; its token is there only with
   * them. Takes milliseconds when most parts were gathered.
   */
  settle(): void;
  /** Removes what the engine would not read. */
  finish(): void;
}

/** Not part of what is stored: the lock of the process, what it was working on, and tables that are being dropped. */
const leftOut = new Set(['status', 'tmp', 'metadata_dropped']);
const tokensDir = 'deduplication_logs';
/** Parts that the engine has set aside. */
const asideDir = 'detached';
const pollsMax = 20;

/** `to` is made. A directory that is not there is an empty store. `linkPart`: as `linkTree`. */
export function createEventsSnapshot(from: string, to: string, linkPart = linkTree): EventsSnapshot {
  /** Path of a part below `from` that the copy holds whole → its inode: the engine may use a name again. */
  const linked = new Map<string, number>();
  /** Path of a table → the parts that it had at the moment. */
  const settled = new Map<string, readonly string[]>();
  const inodeOf = (part: string): number | undefined => statSync(join(from, part), { throwIfNoEntry: false })?.ino;
  const link = (part: string): boolean => {
    const inode = inodeOf(part);
    if (linked.has(part) && (inode === undefined || linked.get(part) === inode)) return true;
    drop(part);
    if (inode === undefined) return false;
    // One that still has its name afterwards was whole all the while.
    if (linkPart(join(from, part), join(to, part)) && inodeOf(part) === inode) linked.set(part, inode);
    else drop(part);
    return linked.has(part);
  };
  /** Part of it may be there. */
  const drop = (part: string): void => {
    linked.delete(part);
    rmSync(join(to, part), { recursive: true, force: true });
  };
  /** Links the parts that hold the table's rows, and adds those that the copy holds whole. False: one was removed before. */
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
    settle() {
      for (const table of tablesIn(from)) settled.set(table, settledParts(table, linkParts));
      // After the parts: for each of them its token was written before it got its name.
      copyRest({ from, to, tables: new Set(settled.keys()), databases: new Set(databasesIn(from)) }, '');
    },
    finish() {
      const kept = new Set([...settled].flatMap(([table, names]) => names.map((name) => join(table, name))));
      for (const part of linked.keys()) if (!kept.has(part)) drop(part);
      for (const [table, names] of settled) keepTokens(join(to, table, tokensDir), names);
    },
  };
}

/**
 * A listing of a directory is not of one moment: while it is read, a part may go that it has not reached, and the part that has the rows
 * by then may come where it has been. So there is a second listing, which has that part. What others come or go meanwhile is no matter:
 * a part that is linked has its rows, and any that were merged or changed since are covered by those that came of them.
 */
function settledParts(table: string, linkParts: (table: string, whole: Set<string>) => boolean): readonly string[] {
  const whole = new Set<string>();
  for (let looks = 1; looks <= pollsMax; looks++) {
    const isWhole = linkParts(table, whole);
    if (isWhole && looks > 1) return uncovered([...whole]);
  }
  throw new Error(
    `expected the parts of ${table} to stay for a moment, got others at each of ${pollsMax} looks; try again later`,
  );
}

/** Of tables with parts, below the engine's directory: those that have a name, which is a link to them. */
function tablesIn(dir: string): string[] {
  const links = entriesOf(join(dir, 'data')).flatMap(({ name: database }) =>
    entriesOf(join(dir, 'data', database)).map(({ name }) => join('data', database, name)),
  );
  return links.filter((link) => !isRunTable(basename(link))).map((link) => placeOf(dir, link));
}

/** Of databases: where the statements of their tables lie. */
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

/** None of a directory that is gone. */
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

/** Files that go meanwhile, as those that the engine writes under another name first, are not of the moment. */
function copyRest(copied: Copied, path: string): void {
  const { from, to, tables, databases } = copied;
  if (!existsSync(join(from, path))) return;
  mkdirSync(join(to, path), { recursive: true, mode: 0o700 });
  for (const entry of entriesOf(join(from, path))) {
    const inner = join(path, entry.name);
    const [source, copy] = [join(from, inner), join(to, inner)];
    if (path === '' && leftOut.has(entry.name)) continue;
    // Of a table of a run, or of one that is being made or dropped.
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

/** The engine begins a new file, and removes an old one, now and then. */
function copyTokens(from: string, to: string): void {
  const namesIn = (dir: string): string[] => entriesOf(dir).map(({ name }) => name);
  for (let looks = 0; looks < pollsMax; looks++) {
    const names = namesIn(from);
    mkdirSync(to, { recursive: true, mode: 0o700 });
    for (const name of names) unlessGone(() => copyFileSync(join(from, name), join(to, name)));
    if (namesIn(from).join() === names.join()) return;
    rmSync(to, { recursive: true });
  }
  throw new Error(`expected ${from} to stay for a moment, got other files at each of ${pollsMax} looks`);
}

function keepTokens(dir: string, parts: readonly string[]): void {
  if (!existsSync(dir)) return;
  for (const name of readdirSync(dir)) {
    const file = join(dir, name);
    writeFileSync(file, keepTokensOf(parts, readFileSync(file, 'utf8')));
  }
}
