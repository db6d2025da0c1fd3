import { Header, Pax } from 'tar';
import { SourceError, SourceWaitError } from '../source.ts';
import { isAddedByTools, type ArchiveMember } from './archive-member.ts';
import { readExactly, type ExactReader } from './read-exactly.ts';

const blockBytes = 512;
/** Of a header that only says more about the next member: a long name. */
const metaBytesMax = 1024 * 1024;

const files: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile']);
const links: ReadonlySet<string> = new Set(['Link', 'SymbolicLink']);
const withoutContent: ReadonlySet<string> = new Set(['Directory', 'CharacterDevice', 'BlockDevice', 'FIFO']);
const longNames: ReadonlySet<string> = new Set(['NextFileHasLongPath', 'OldGnuLongPath']);

/** What headers before a member say about it. */
interface Announced {
  readonly next?: Pax | undefined;
  readonly all?: Pax | undefined;
}

/**
 * The files of a tar archive in its order. Links, devices and directories hold nothing and are passed over; names are only
 * names, wherever they lead.
 * @throws SourceWaitError when it is damaged or ends early, also between two members: an archive says where it ends;
 *   SourceError for members that are not stored as they are (sparse files, parts of several volumes)
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
      // Whatever the reader of the member left of it.
      for await (const _ of readContent(reader, content));
      await reader.take(paddingOf(size));
      announced = { all: announced.all };
    }
  } finally {
    await source.return?.();
  }
}

/** Whether these are the first bytes of an archive: the checksum of its first header tells, which also old archives have. */
export function isTar(head: Buffer): boolean {
  if (head.length < blockBytes) return false;
  const isEmptyArchive = head.length >= 2 * blockBytes && isBlank(head.subarray(0, 2 * blockBytes));
  return isEmptyArchive || head.toString('latin1', 257, 262) === 'ustar' || hasChecksum(head);
}

/** Bytes 148 to 156 hold the sum of all others and eight spaces, in octal. */
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
    throw damaged(name, 'has a header with numbers that are none', { cause: error });
  }
}

/** Undefined: the header is that of a member. */
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

/** As GNU tar writes them; what would be read is not the file. */
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

/** Behind the end mark there is only padding; another archive would be lost. */
async function expectBlank(reader: ExactReader, name: string): Promise<void> {
  for (let piece = await reader.take(blockBytes); piece.length > 0; piece = await reader.take(64 * blockBytes)) {
    if (isBlank(piece)) continue;
    throw new SourceError(
      `the tar archive ${name} goes on behind its end mark: are several archives joined in one file? Unpack it first`,
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
  return new SourceError(`expected files as they are in the tar archive ${name}, got ${what}; pack it anew without`);
}
