import { TextDecoder } from 'node:util';
import { SourceWaitError } from '../source.ts';

/**
 * Text of UTF-16 that begins with a byte order mark (as Matomo and Excel write CSV), as UTF-8 without one.
 * @throws SourceWaitError when it is damaged or ends within a character: the transfer may have been cut
 */
export async function* utf16Chunks(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let decoder: TextDecoder | undefined;
  let bytes = 0;
  try {
    for await (const chunk of chunks) {
      decoder ??= new TextDecoder(chunk[0] === 0xfe ? 'utf-16be' : 'utf-16le', { fatal: true });
      yield Buffer.from(decoder.decode(chunk, { stream: true }));
      bytes += chunk.length;
    }
    const rest = decoder?.decode() ?? '';
    if (rest !== '') yield Buffer.from(rest);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const message = `${name} is no whole text in UTF-16 from byte ${bytes} on: is it truncated, or damaged?`;
    throw new SourceWaitError(message, { unlimited: false, cause });
  }
}
