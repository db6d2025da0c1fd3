import { createHash } from 'node:crypto';
import { posix } from 'node:path';

/** What a backup holds: the last thing that is written of it, and the first that is read. */
export interface Manifest {
  readonly format: 1;
  readonly id: string;
  /** ISO 8601, UTC: the moment whose state it is. */
  readonly taken_at: string;
  readonly files: readonly BackupFile[];
  /** Symbolic links of the event store's directory. */
  readonly links: readonly BackupLink[];
  readonly counts: BackupCounts;
}

export interface BackupFile {
  /** Below the data directory. */
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

/** What is found in the stores of a copy that is opened. */
export interface BackupCounts {
  /** Stored events, as reads show them, by the month of their day: 202403 is March 2024. */
  readonly events: readonly { readonly project: number; readonly month: number; readonly events: number }[];
  /** Accepted and not stored yet; the pipeline goes on with them. */
  readonly waiting: Readonly<Record<'live' | 'historical', { readonly records: number; readonly events: number }>>;
  /** Rows of the metadata store, by table. */
  readonly tables: Readonly<Record<string, number>>;
}

/** The backup is not what was written, or not all of it. The message says what is missing or different. */
export class BackupDamagedError extends Error {
  override name = 'BackupDamagedError';
}

export const manifestKey = 'manifest.json';
/** There from the first byte of a backup until its manifest is. */
export const unfinishedKey = 'unfinished.json';
export const filesPrefix = 'files/';

/** What a backup may hold of a data directory. */
export const backedUp = ['metadata.sqlite', 'log', 'events', 'imports', 'import-uploads'] as const;

export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify({ manifest, sha256: sha256Of(manifest) }, null, 1)}\n`;
}

/** Errors: BackupDamagedError. */
export function readManifest(text: string): Manifest {
  const wrong = (got: string): BackupDamagedError =>
    new BackupDamagedError(`expected ${manifestKey} as "millrace backup" wrote it, got ${got}; take another backup`);
  let read: { readonly manifest?: Manifest; readonly sha256?: unknown };
  try {
    read = JSON.parse(text) as typeof read;
  } catch {
    throw wrong('something that is no JSON');
  }
  const { manifest, sha256 } = read;
  if (manifest === undefined || sha256 !== sha256Of(manifest)) throw wrong('one with another checksum');
  if (manifest.format !== 1) {
    throw new BackupDamagedError(
      `expected a backup of format 1, got ${String(manifest.format)}; a newer Millrace took it: restore it with that one`,
    );
  }
  const odd =
    [...manifest.files, ...manifest.links].find(({ path }) => !isInside(path)) ?? manifest.links.find(leadsOut);
  const links = new Set(manifest.links.map(({ path }) => path));
  const throughLink =
    manifest.files.find(({ path }) => passesLink(path, links)) ??
    manifest.links.find(
      ({ path, to }) => passesLink(path, links) || climbs(to) || passesLink(`${targetOf(path, to)}/`, links),
    );
  if (odd === undefined && throughLink !== undefined) {
    throw wrong(`a path that leads through a symbolic link: ${JSON.stringify(throughLink.path)}`);
  }
  if (odd !== undefined) throw wrong(`a file outside of a data directory: ${JSON.stringify(odd.path)}`);
  return manifest;
}

/** Whoever writes a manifest can make its checksum, too: no path of it may lead anywhere else. */
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

/** `..` behind a name leads elsewhere than it says where that name is a link; before all names it leads above the folder of the link. */
function climbs(to: string): boolean {
  return /(^|\/)(?!\.\.(\/|$))[^/]+\/\.\.(\/|$)/.test(to);
}

/** Whether a folder of the path is one of the links: then it leads where that link does, whatever the path says. */
function passesLink(path: string, links: ReadonlySet<string>): boolean {
  const names = path.split('/');
  return names.some((_name, index) => index > 0 && links.has(names.slice(0, index).join('/')));
}

function sha256Of(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}

/** Names of files are those of columns and uploads; a key has only letters, digits and a few signs. Two names never share one. */
export function keyOf(path: string): string {
  const encoded = [...Buffer.from(path)].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[a-zA-Z0-9_./-]/.test(character) ? character : `=${byte.toString(16).padStart(2, '0')}`;
  });
  // A name of dots alone is none that a key may have.
  return (
    filesPrefix +
    encoded
      .join('')
      .replace(/(^|\/)(\.+)(?=\/|$)/g, (_, slash: string, dots: string) => `${slash}${'=2e'.repeat(dots.length)}`)
  );
}
