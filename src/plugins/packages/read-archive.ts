import { TooLargeError, type ArchiveMember } from './archive-member.ts';
import {
  archiveBytesMax,
  cleanPath,
  collectFiles,
  isClutter,
  tooMuch,
  withoutTopFolder,
  type PackageFiles,
} from './package-files.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import { readTar } from './read-tar.ts';
import { readZip } from './read-zip.ts';

/** Says whether a file is wanted, by its path within the archive; the others are not unpacked. */
export type Wanted = (path: string) => boolean;

export type ArchiveAttr = 'archive' | 'url' | 'npm';

/**
 * Files of a .zip, .tgz or .tar, told apart by their first bytes. Links and devices are left out. A single folder at the
 * top is the root; `wanted` is asked with it still there. Throws PluginPackageError.
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
  if (files.size === 0 && wanted === undefined) throw new PluginPackageError('The archive holds no files.', { attr });
  return files;
}

function membersOf(bytes: Uint8Array, attr: ArchiveAttr): AsyncIterable<ArchiveMember> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = buffer.toString('latin1', 0, 4);
  if (magic === 'PK\u0003\u0004' || magic === 'PK\u0005\u0006') return readZip(buffer);
  const isGzip = magic.startsWith('\u001f\u008b');
  if (isGzip || buffer.toString('latin1', 257, 262) === 'ustar') return readTar(buffer, { isGzip });
  const start = magic.startsWith('<') ? ' It begins like a web page: is this the address of the archive itself?' : '';
  throw new PluginPackageError(`Expected an archive (.zip, .tgz or .tar), got something else.${start}`, { attr });
}

function shown(path: string): string {
  return JSON.stringify(path.slice(0, 200));
}
