import { openPromise, type Entry, type ZipFile } from 'yauzl';
import { SourceError, SourceWaitError } from '../source.ts';
import { isAddedByTools, type ArchiveMember } from './archive-member.ts';

const final = /unsupported|not supported|encrypt|absolute path|relative path|invalid characters/i;

/**
 * The files of a zip archive in the order of its directory; each is to be read before the next one is asked for.
 * @param onRead hears how many bytes of the archive the files read so far take
 * @throws SourceWaitError when it is damaged or truncated, SourceError when it is encrypted or compressed in an unusual way
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
      // Sound: the stream of a member gives bytes.
      const piece = chunk as Buffer;
      bytes += piece.length;
      onRead(Math.round(bytes * share));
      yield piece;
    }
  } catch (error) {
    throw asDamage(error, `${name}: ${entry.fileName}`);
  }
}

/** yauzl's errors are plain ones; whatever else comes through is somebody else's. */
function asDamage(error: unknown, name: string): unknown {
  if (!(error instanceof Error) || error.name !== 'Error') return error;
  if (final.test(error.message)) {
    return new SourceError(`the zip archive ${name} cannot be read: ${error.message}; pack it anew`, { cause: error });
  }
  const message = `the zip archive ${name} is damaged or truncated: ${error.message}; fetch or export it again`;
  return new SourceWaitError(message, { unlimited: false, cause: error });
}
