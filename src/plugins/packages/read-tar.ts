import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { filesMax, unpackedBytesMax } from './package-files.ts';
import { TooLargeError, type ArchiveMember } from './archive-member.ts';

const inflate = promisify(gunzip);
/** Headers and padding of every file, and those of long names. */
const overheadBytesMax = filesMax * 4096;
const fileTypes: ReadonlySet<string> = new Set(['File', 'OldFile', 'ContiguousFile']);

/** Files of a .tar or .tgz in their order. */
export async function* readTar(
  buffer: Buffer,
  { isGzip }: { readonly isGzip: boolean },
): AsyncGenerator<ArchiveMember> {
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
  // Needed for installations only: the start of the program does not wait for it.
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
