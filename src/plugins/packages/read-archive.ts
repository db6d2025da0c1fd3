import {
  archiveBytesMax,
  cleanPath,
  collectFiles,
  isClutter,
  tooMuch,
  withoutTopFolder,
  filesMax,
  unpackedBytesMax,
  type PackageFiles,
} from './package-files.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';

/** Whether a file should be unpacked, by its path within the archive. */
export type Wanted = (path: string) => boolean;

export type ArchiveAttr = 'archive' | 'url' | 'npm';

/**
 * Reads the files of a .zip, .tgz or .tar, recognised by their first bytes. Links and devices are skipped. A single top-level
 * folder is the root; `wanted` receives paths that still contain it. Throws PluginPackageError.
 */
export async function readArchive(bytes: Uint8Array, attr: ArchiveAttr, wanted?: Wanted): Promise<PackageFiles> {
  if (bytes.byteLength > archiveBytesMax) {
    const message = `Expected an archive of at most ${archiveBytesMax / 1024 / 1024} MiB, got ${bytes.byteLength} bytes.`;
    throw new PluginPackageError(message, { attr });
  }
  const collector = collectFiles(attr);
  try {
    for await (const member of membersOf(bytes, attr)) {
      if (isClutter(member.path) || member.path.endsWith('/')) continue;
      const path = cleanPath(member.path);
      if (path === undefined) {
        throw new PluginPackageError(`The archive names a file outside of it: ${shown(member.path)}.`, { attr });
      }
      if (wanted?.(path) === false) continue;
      if (member.size > collector.bytesLeft()) throw tooMuch(attr);
      collector.add(path, await member.read(collector.bytesLeft()));
    }
  } catch (cause) {
    if (cause instanceof PluginPackageError) throw cause;
    if (cause instanceof TooLargeError) throw tooMuch(attr);
    const message = `The archive cannot be read: ${(cause as Error).message}. Expected a .zip, .tgz or .tar.`;
    throw new PluginPackageError(message, { attr, cause });
  }
  const files = withoutTopFolder(collector.files());
  if (files.size === 0 && wanted === undefined)
    throw new PluginPackageError('The archive contains no files.', { attr });
  return files;
}

function membersOf(bytes: Uint8Array, attr: ArchiveAttr): AsyncIterable<ArchiveMember> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = buffer.toString('latin1', 0, 4);
  if (magic === 'PK\u0003\u0004' || magic === 'PK\u0005\u0006') return readZip(buffer);
  const isGzip = magic.startsWith('\u001f\u008b');
  if (isGzip || buffer.toString('latin1', 257, 262) === 'ustar') return readTar(buffer, { isGzip });
  const start = magic.startsWith('<') ? ' It looks like a web page: is this the address of the archive itself?' : '';
  throw new PluginPackageError(`Expected an archive (.zip, .tgz or .tar), got something else.${start}`, { attr });
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}

const fileTypeMask = 0o170000;
const regularFile = 0o100000;
const unix = 3;

/** Yields the files of a .zip in the order of its directory; each is unpacked when it is read. */
async function* readZip(buffer: Buffer): AsyncGenerator<ArchiveMember> {
  // Loaded for installations only, so that the program starts faster.
  const { fromBufferPromise } = await import('yauzl');
  const zip = await fromBufferPromise(buffer, { lazyEntries: true, validateEntrySizes: true });
  try {
    for await (const entry of zip.eachEntry()) {
      if (!isFile(entry)) continue;
      if (entry.isEncrypted()) throw new Error(`${entry.fileName} is encrypted`);
      yield {
        path: entry.fileName,
        size: entry.uncompressedSize,
        read: async (bytesMax) => readAll(await zip.openReadStreamPromise(entry), bytesMax),
      };
    }
  } finally {
    zip.close();
  }
}

/** Not a folder, a link or a device. */
function isFile(entry: { fileName: string; versionMadeBy: number; externalFileAttributes: number }): boolean {
  if (entry.fileName.endsWith('/')) return false;
  const type = entry.versionMadeBy >>> 8 === unix ? (entry.externalFileAttributes >>> 16) & fileTypeMask : 0;
  return type === 0 || type === regularFile;
}

async function readAll(stream: Readable, bytesMax: number): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new TooLargeError();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const inflate = promisify(gunzip);
/** Headers and padding of every file, and headers for long names. */
const overheadBytesMax = filesMax * 4096;
const fileTypes: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile']);

/** Yields the files of a .tar or .tgz in order. */
async function* readTar(buffer: Buffer, { isGzip }: { readonly isGzip: boolean }): AsyncGenerator<ArchiveMember> {
  const tar = isGzip ? await unzip(buffer) : buffer;
  for (const { path, content } of await parse(tar)) {
    yield { path, size: content.byteLength, read: async () => content };
  }
}

async function unzip(buffer: Buffer): Promise<Buffer> {
  try {
    return await inflate(buffer, { maxOutputLength: unpackedBytesMax + overheadBytesMax });
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw new TooLargeError();
    throw error;
  }
}

async function parse(tar: Buffer): Promise<readonly { readonly path: string; readonly content: Uint8Array }[]> {
  // Loaded for installations only, so that the program starts faster.
  const { Parser } = await import('tar');
  const members: Promise<{ path: string; content: Uint8Array }>[] = [];
  await new Promise<void>((resolve, reject) => {
    const parser = new Parser({
      strict: false,
      onReadEntry: (entry) => {
        if (!fileTypes.has(entry.type)) return entry.resume();
        const { path } = entry;
        members.push(entry.concat().then((content) => ({ path, content })));
      },
      onwarn: (code, message) => {
        if (code === 'TAR_BAD_ARCHIVE' || code === 'TAR_ENTRY_INVALID') reject(new Error(String(message)));
      },
    });
    parser.on('error', reject);
    parser.on('end', resolve);
    parser.end(tar);
  });
  return Promise.all(members);
}

/** A file of an archive; `read` returns its bytes, or throws TooLargeError if there are more than `bytesMax`. */
interface ArchiveMember {
  readonly path: string;
  /** As stated by the archive, so not reliable. */
  readonly size: number;
  read(bytesMax: number): Promise<Uint8Array>;
}

/** The data exceeds the limit. */
class TooLargeError extends Error {
  override name = 'TooLargeError';
}
