import { Header, Pax } from 'tar';
import { SourceError, SourceWaitError } from '../source.ts';
import { readExactly, type ExactReader } from './read-exactly.ts';
import { openPromise, type Entry, type ZipFile } from 'yauzl';

/** A file of an archive; must be read before the next one is requested. */
export interface ArchiveMember {
  /** For messages, such as `exports.zip: 2024/a.json`. Never used as a path to write to. */
  readonly name: string;
  readonly chunks: AsyncIterable<Buffer>;
}

/** Files that archivers and file managers add. */
const added = /(^|\/)(__MACOSX\/|\._|\.DS_Store$|Thumbs\.db$)/;

function isAddedByTools(path: string): boolean {
  return added.test(path);
}

const blockBytes = 512;
/** Limit for a header that only describes the next member, such as a long name. */
const metaBytesMax = 1024 * 1024;

const files: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile']);
const links: ReadonlySet<string> = new Set(['Link', 'SymbolicLink']);
const withoutContent: ReadonlySet<string> = new Set(['Directory', 'CharacterDevice', 'BlockDevice', 'FIFO']);
const longNames: ReadonlySet<string> = new Set(['NextFileHasLongPath', 'OldGnuLongPath']);

/** Attributes from headers before a member. */
interface Announced {
  readonly next?: Pax | undefined;
  readonly all?: Pax | undefined;
}

/**
 * Yields the files of a tar archive in order. Links, devices and directories have no content and are skipped; names are never
 * resolved.
 * @throws SourceWaitError if it is damaged or truncated, even between two members, since an archive has an end mark; SourceError
 * for members that are not stored whole (sparse files, parts of several volumes)
 */
export async function* tarMembers(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<ArchiveMember> {
  const source = chunks[Symbol.asyncIterator]();
  const reader = readExactly(source);
  try {
    for (let announced: Announced = {}; ;) {
      const block = await reader.take(blockBytes);
      if (block.length < blockBytes) throw damaged(name, 'ends before its end mark');
      if (isBlank(block)) return await expectBlank(reader, name);
      const header = readHeader(block, announced, name);
      const size = links.has(header.type) ? 0 : (header.size ?? 0);
      const more = await readAnnouncement(reader, { header, size, announced, name });
      if (more !== undefined) {
        announced = more;
        continue;
      }
      const path = header.path ?? '';
      refuseUnusual(header, name);
      const content = { name: `${name}: ${path}`, left: size };
      if (files.has(header.type) && !isAddedByTools(path)) {
        yield { name: content.name, chunks: readContent(reader, content) };
      }
      // Consumes what the reader of the member did not.
      for await (const _ of readContent(reader, content));
      await reader.take(paddingOf(size));
      announced = { all: announced.all };
    }
  } finally {
    await source.return?.();
  }
}

/** Whether these are the first bytes of an archive, by the checksum of its first header, which even old archives have. */
export function isTar(head: Buffer): boolean {
  if (head.length < blockBytes) return false;
  const isEmptyArchive = head.length >= 2 * blockBytes && isBlank(head.subarray(0, 2 * blockBytes));
  return isEmptyArchive || head.toString('latin1', 257, 262) === 'ustar' || hasChecksum(head);
}

/** Bytes 148 to 156 contain the sum of all others and eight spaces, in octal. */
function hasChecksum(block: Buffer): boolean {
  const expected = /^\s*([0-7]+)/.exec(block.toString('latin1', 148, 156))?.[1];
  const sum = block.subarray(0, blockBytes).reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  return expected !== undefined && parseInt(expected, 8) === sum;
}

function readHeader(block: Buffer, { next, all }: Announced, name: string): Header {
  if (!hasChecksum(block)) throw damaged(name, 'has a header that does not match its checksum');
  try {
    return new Header(block, 0, next, all);
  } catch (error) {
    throw damaged(name, 'has a header with invalid numbers', { cause: error });
  }
}

/** Returns `undefined` if the header belongs to a member. */
async function readAnnouncement(
  reader: ExactReader,
  {
    header: { type },
    size,
    announced,
    name,
  }: { readonly header: Header; readonly size: number; readonly announced: Announced; readonly name: string },
): Promise<Announced | undefined> {
  const isPax = type === 'ExtendedHeader' || type === 'OldExtendedHeader';
  const isKnown = isPax || type === 'GlobalExtendedHeader' || type === 'NextFileHasLongLinkpath' || longNames.has(type);
  if (!isKnown) return undefined;
  if (size > metaBytesMax) throw damaged(name, `has a header of ${size} bytes`);
  const content = await reader.take(size);
  if (content.length < size) throw damaged(name, 'ends within a header');
  await reader.take(paddingOf(size));
  const text = content.toString('utf8');
  if (/\bGNU\.sparse\./.test(text)) throw unusual(name, 'a sparse file');
  if (isPax) return { ...announced, next: Pax.parse(text, announced.next) };
  if (type === 'GlobalExtendedHeader') return { ...announced, all: Pax.parse(text, announced.all, true) };
  if (!longNames.has(type)) return announced;
  return { ...announced, next: new Pax({ ...announced.next, path: text.replace(/\0.*/s, '') }) };
}

/** Rejects member types of GNU tar whose content is not the file itself. */
function refuseUnusual({ type, path = '' }: Header, name: string): void {
  if (files.has(type) || links.has(type) || withoutContent.has(type)) return;
  throw unusual(`${name}: ${path}`, type === 'SparseFile' ? 'a sparse file' : `of the kind ${type}`);
}

async function* readContent(reader: ExactReader, content: { readonly name: string; left: number }) {
  for await (const piece of reader.stream(content.left)) {
    content.left -= piece.length;
    yield piece;
  }
  if (content.left > 0) throw damaged(content.name, `ends ${content.left} bytes too early`);
}

/** Only padding may follow the end mark; another archive would be lost. */
async function expectBlank(reader: ExactReader, name: string): Promise<void> {
  for (let piece = await reader.take(blockBytes); piece.length > 0; piece = await reader.take(64 * blockBytes)) {
    if (isBlank(piece)) continue;
    throw new SourceError(
      `the tar archive ${name} continues after its end mark: are several archives joined in one file? Unpack it first`,
    );
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

function paddingOf(size: number): number {
  return (blockBytes - (size % blockBytes)) % blockBytes;
}

function damaged(name: string, what: string, options: { readonly cause?: unknown } = {}): SourceWaitError {
  const message = `the tar archive ${name} ${what}: it is damaged or truncated; fetch or export it again`;
  return new SourceWaitError(message, { unlimited: false, ...options });
}

function unusual(name: string, what: string): SourceError {
  return new SourceError(`expected files as they are in the tar archive ${name}, got ${what}; pack it again without`);
}

const final = /unsupported|not supported|encrypt|absolute path|relative path|invalid characters/i;

/**
 * Yields the files of a zip archive in the order of its directory; each must be read before the next one is requested.
 * @param onRead receives the number of compressed bytes of the files read so far
 * @throws SourceWaitError if it is damaged or truncated, SourceError if it is encrypted or compressed in an unusual way
 */
export async function* zipMembers(
  path: string,
  name: string,
  onRead: (bytes: number) => void,
): AsyncGenerator<ArchiveMember> {
  let before = 0;
  let zip: ZipFile | undefined;
  try {
    zip = await openPromise(path, { lazyEntries: true, autoClose: false });
    for await (const entry of zip.eachEntry()) {
      const taken = before;
      const chunks = memberChunks(zip, entry, name, (bytes) => onRead(taken + bytes));
      if (!entry.fileName.endsWith('/') && !isAddedByTools(entry.fileName)) {
        yield { name: `${name}: ${entry.fileName}`, chunks };
      }
      before += entry.compressedSize;
      onRead(before);
    }
  } catch (error) {
    throw asDamage(error, name);
  } finally {
    zip?.close();
  }
}

async function* memberChunks(
  zip: ZipFile,
  entry: Entry,
  name: string,
  onRead: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  if (entry.isEncrypted()) {
    throw new SourceError(
      `expected an archive without a password, got ${name}, of which ${entry.fileName} is encrypted`,
    );
  }
  const share = entry.compressedSize / Math.max(1, entry.uncompressedSize);
  let bytes = 0;
  try {
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      // Sound: the stream of a member yields bytes.
      const piece = chunk as Buffer;
      bytes += piece.length;
      onRead(Math.round(bytes * share));
      yield piece;
    }
  } catch (error) {
    throw asDamage(error, `${name}: ${entry.fileName}`);
  }
}

/** Errors of yauzl are plain ones; other errors have another origin. */
function asDamage(error: unknown, name: string): unknown {
  if (!(error instanceof Error) || error.name !== 'Error') return error;
  if (final.test(error.message)) {
    return new SourceError(`the zip archive ${name} cannot be read: ${error.message}; pack it again`, { cause: error });
  }
  const message = `the zip archive ${name} is damaged or truncated: ${error.message}; fetch or export it again`;
  return new SourceWaitError(message, { unlimited: false, cause: error });
}
