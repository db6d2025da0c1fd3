import { createHash } from 'node:crypto';
import { posix } from 'node:path';

/** Contents of a backup. It is written last and read first. */
export interface Manifest {
  readonly format: 1;
  readonly id: string;
  /** Moment of the backed-up state, ISO 8601 UTC. */
  readonly taken_at: string;
  readonly files: readonly BackupFile[];
  /** Symbolic links of the event store's directory. */
  readonly links: readonly BackupLink[];
  readonly counts: BackupCounts;
}

export interface BackupFile {
  /** Path below the data directory. */
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

export interface BackupLink {
  readonly path: string;
  /** Relative to the directory that the link is in. */
  readonly to: string;
}

/** Counts read from the stores of the copy. */
export interface BackupCounts {
  /** Stored events, as reads show them, by the month of their day: 202403 is March 2024. */
  readonly events: readonly { readonly project: number; readonly month: number; readonly events: number }[];
  /** Accepted events that are not stored yet; the pipeline continues with them. */
  readonly waiting: Readonly<Record<'live' | 'historical', { readonly records: number; readonly events: number }>>;
  /** Rows of the metadata store, by table. */
  readonly tables: Readonly<Record<string, number>>;
}

/** The backup was altered or is incomplete. The message states what is missing or different. */
export class BackupDamagedError extends Error {
  override name = 'BackupDamagedError';
}

export const manifestKey = 'manifest.json';
/** Exists from the first byte of a backup until its manifest does. */
export const unfinishedKey = 'unfinished.json';
export const filesPrefix = 'files/';

/** The parts of a data directory that a backup may contain. */
export const backedUp = ['metadata.sqlite', 'log', 'events', 'imports', 'import-uploads'] as const;

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify({ manifest, sha256: sha256Of(manifest) }, null, 1)}\n`;
}

/** @throws BackupDamagedError */
export function readManifest(text: string): Manifest {
  const wrong = (got: string): BackupDamagedError =>
    new BackupDamagedError(`expected ${manifestKey} as "millrace backup" wrote it, got ${got}; take another backup`);
  let read: { readonly manifest?: Manifest; readonly sha256?: unknown };
  try {
    read = JSON.parse(text) as typeof read;
  } catch {
    throw wrong('something other than JSON');
  }
  const { manifest, sha256 } = read;
  if (manifest === undefined || sha256 !== sha256Of(manifest)) throw wrong('one with another checksum');
  if (manifest.format !== 1) {
    throw new BackupDamagedError(
      `expected a backup of format 1, got ${String(manifest.format)}; a newer Millrace took it: restore it with that version`,
    );
  }
  const outside =
    [...manifest.files, ...manifest.links].find(({ path }) => !isInside(path)) ?? manifest.links.find(leadsOut);
  const links = new Set(manifest.links.map(({ path }) => path));
  const throughLink =
    manifest.files.find(({ path }) => passesLink(path, links)) ??
    manifest.links.find(
      ({ path, to }) => passesLink(path, links) || climbs(to) || passesLink(`${targetOf(path, to)}/`, links),
    );
  if (outside === undefined && throughLink !== undefined) {
    throw wrong(`a path that leads through a symbolic link: ${JSON.stringify(throughLink.path)}`);
  }
  if (outside !== undefined) throw wrong(`a file outside of a data directory: ${JSON.stringify(outside.path)}`);
  return manifest;
}

/** Returns whether a path is inside the data directory. A crafted manifest has a valid checksum, so its paths are checked. */
function isInside(path: string): boolean {
  const [root] = path.split('/');
  return (
    typeof path === 'string' &&
    !path.includes('\0') &&
    posix.normalize(path) === path &&
    backedUp.some((each) => each === root)
  );
}

function leadsOut({ path, to }: BackupLink): boolean {
  return to.startsWith('/') || to.includes('\0') || !targetOf(path, to).startsWith('events/');
}

function targetOf(path: string, to: string): string {
  return posix.join(posix.dirname(path), to);
}

/** Returns whether `..` leads outside: after a name that is a link it leads elsewhere, before all names above the link's folder. */
function climbs(to: string): boolean {
  return /(^|\/)(?!\.\.(\/|$))[^/]+\/\.\.(\/|$)/.test(to);
}

/** Returns whether a folder of the path is one of the links, so that the path leads where that link does. */
function passesLink(path: string, links: ReadonlySet<string>): boolean {
  const names = path.split('/');
  return names.some((_name, index) => index > 0 && links.has(names.slice(0, index).join('/')));
}

function sha256Of(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/** Returns a unique key for a path. File names come from columns and uploads; a key has only letters, digits and a few other characters. */
export function keyOf(path: string): string {
  const encoded = [...Buffer.from(path)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[a-zA-Z0-9_./-]/.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`;
  });
  // A key must not contain a name of only dots.
  return (
    filesPrefix +
    encoded
      .join('')
      .replace(/(^|\/)(\.+)(?=\/|$)/g, (_, slash: string, dots: string) => `${slash}${'=2e'.repeat(dots.length)}`)
  );
}
