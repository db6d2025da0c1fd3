import type { Readable } from 'node:stream';
import { TooLargeError, type ArchiveMember } from './archive-member.ts';

const fileTypeMask = 0o170000;
const regularFile = 0o100000;
const unix = 3;

/** Files of a .zip in the order of its directory; each is unpacked when it is read. */
export async function* readZip(buffer: Buffer): AsyncGenerator<ArchiveMember> {
  // Needed for installations only: the start of the program does not wait for it.
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
