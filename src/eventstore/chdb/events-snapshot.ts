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
} from 'node:fs';
import { basename, dirname, join, parse } from 'node:path';
import { linkTree } from '../../base/link-tree.ts';
import { isRunTable } from '../run-tables.ts';
import { keepTokensOf, readPartName, uncovered } from './part-names.ts';

/**
 * A copy of the engine's directory as it is at one moment, while the engine works in it or not. The engine never changes a file of a
 * part, and keeps parts that it has merged for some minutes, so second names of them are a copy; all else is small.
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
  /** Takes away what the engine would not read. */
  finish(): void;
}

/** Not part of what is stored: the lock of the process, what it was working on, and tables that are being dropped. */
const leftOut = new Set(['status', 'tmp', 'metadata_dropped']);
const tokensDir = 'deduplication_logs';
/** Parts that the engine has set aside. */
const asideDir = 'detached';
const looksMax = 20;

/** `to` is made. A directory that is not there is an empty store. */
export function createEventsSnapshot(from: string, to: string): EventsSnapshot {
  /** Path of a part below `from` → its inode: the engine may give a name again. */
  const linked = new Map<string, number>();
  /** Path of a table → the parts that it had at the moment. */
  const settled = new Map<string, readonly string[]>();
  const link = (part: string): boolean => {
    const inode = statSync(join(from, part), { throwIfNoEntry: false })?.ino;
    if (inode !== undefined && linked.get(part) === inode) return true;
    rmSync(join(to, part), { recursive: true, force: true });
    linked.delete(part);
    if (inode === undefined || !linkTree(join(from, part), join(to, part))) return false;
    linked.set(part, inode);
    return true;
  };
  const linkParts = (table: string): readonly string[] | undefined => {
    const names = partsIn(join(from, table));
    const isWhole = names.map((name) => link(join(table, name))).every((each) => each);
    return isWhole ? names : undefined;
  };
  return {
    gather() {
      for (const table of tablesIn(from)) linkParts(table);
    },
    settle() {
      for (const table of tablesIn(from))
        settled.set(
          table,
          untilWhole(() => linkParts(table), table),
        );
      // After the parts: for each of them its token was written before it got its name.
      copyRest({ from, to, tables: new Set(settled.keys()), databases: new Set(databasesIn(from)) }, '');
    },
    finish() {
      for (const part of linked.keys()) {
        const names = settled.get(dirname(part)) ?? [];
        if (!names.some((name) => join(dirname(part), name) === part)) rmSync(join(to, part), { recursive: true });
      }
      for (const [table, names] of settled) leaveUncovered(join(to, table), names);
    },
  };
}

/** A part that goes while it is looked at was merged into another one minutes ago, which the next look finds. */
function untilWhole(look: () => readonly string[] | undefined, table: string): readonly string[] {
  for (let looks = 0; looks < looksMax; looks++) {
    const names = look();
    if (names !== undefined) return names;
  }
  throw new Error(
    `expected the parts of ${table} to stay for a moment, got others at each of ${looksMax} looks; try again later`,
  );
}

/** Of tables with parts, below the engine's directory: those that have a name, which is a link to them. */
function tablesIn(dir: string): string[] {
  const data = join(dir, 'data');
  if (!existsSync(data)) return [];
  const links = readdirSync(data).flatMap((database) =>
    readdirSync(join(data, database)).map((name) => join('data', database, name)),
  );
  return links.filter((link) => !isRunTable(basename(link))).map((link) => placeOf(dir, link));
}

/** Of databases: where the statements of their tables lie. */
function databasesIn(dir: string): string[] {
  const links = readdirSync(join(dir, 'metadata'), { withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
  return links.map(({ name }) => placeOf(dir, join('metadata', name)));
}

/** `store/8b6/8b69a3aa-…`. */
function placeOf(dir: string, link: string): string {
  return join(dirname(link), readlinkSync(join(dir, link)));
}

const place = /^store\/[^/]+\/[^/]+$/;

function partsIn(table: string): string[] {
  return readdirSync(table, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && readPartName(entry.name) !== undefined)
    .map(({ name }) => name);
}

interface Copied {
  readonly from: string;
  readonly to: string;
  readonly tables: ReadonlySet<string>;
  readonly databases: ReadonlySet<string>;
}

function copyRest(copied: Copied, path: string): void {
  const { from, to, tables, databases } = copied;
  if (!existsSync(join(from, path))) return;
  mkdirSync(join(to, path), { recursive: true, mode: 0o700 });
  for (const entry of readdirSync(join(from, path), { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (path === '' && leftOut.has(entry.name)) continue;
    // Of a table of a run, or of one that is being made or dropped.
    if (isRunTable(parse(entry.name).name)) continue;
    if (place.test(inner) && !tables.has(inner) && !databases.has(inner)) continue;
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(join(from, inner)), join(to, inner));
    else if (entry.isFile()) copyFileSync(join(from, inner), join(to, inner));
    else if (!entry.isDirectory()) continue;
    else if (!tables.has(path)) copyRest(copied, inner);
    else if (entry.name === tokensDir) copyTokens(join(from, inner), join(to, inner));
    else if (entry.name === asideDir) linkTree(join(from, inner), join(to, inner));
  }
}

/** The engine begins a new file, and removes an old one, now and then. */
function copyTokens(from: string, to: string): void {
  for (let looks = 0; looks < looksMax; looks++) {
    const names = readdirSync(from);
    mkdirSync(to, { recursive: true, mode: 0o700 });
    for (const name of names) if (existsSync(join(from, name))) copyFileSync(join(from, name), join(to, name));
    if (readdirSync(from).join() === names.join()) return;
    rmSync(to, { recursive: true });
  }
  throw new Error(`expected ${from} to stay for a moment, got other files at each of ${looksMax} looks`);
}

function leaveUncovered(table: string, names: readonly string[]): void {
  const kept = new Set(uncovered(names));
  for (const name of names) if (!kept.has(name)) rmSync(join(table, name), { recursive: true });
  const tokens = join(table, tokensDir);
  if (!existsSync(tokens)) return;
  for (const name of readdirSync(tokens)) {
    const file = join(tokens, name);
    writeFileSync(file, keepTokensOf([...kept], readFileSync(file, 'utf8')));
  }
}
