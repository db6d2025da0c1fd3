import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { OutboundError } from './outbound.ts';

const encodingsMax = 3;

type Decoder = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Buffer>;
const decoders: Readonly<Record<string, Decoder>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  br: promisify(brotliDecompress),
  // Some servers omit the zlib header; 8 in the low half of the first byte identifies it.
  deflate: (bytes, options) => promisify(((bytes[0] ?? 0) & 0x0f) === 8 ? inflate : inflateRaw)(bytes, options),
};

/**
 * Returns the whole body, decoded where the encodings are known. Both the transferred and the decoded size are limited;
 * decoding stops at the limit.
 * @param encodings value of content-encoding
 * @throws OutboundError `limit` when it is too large, `network` when it cannot be decoded
 */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  encodings: string,
  bytesMax: number,
): Promise<Uint8Array> {
  let bytes: Uint8Array = await collect(body, bytesMax);
  const names = encodings
    .toLowerCase()
    .split(',')
    .map((each) => each.trim());
  if (names.length > encodingsMax) {
    throw new OutboundError('limit', `expected at most ${encodingsMax} content encodings, got: ${names.length}`);
  }
  for (const name of names.toReversed()) {
    const decoder = Object.hasOwn(decoders, name) ? decoders[name] : undefined;
    // A response without a body (to HEAD, or 304) still names its encoding.
    if (decoder !== undefined && bytes.length > 0) bytes = await decoded(decoder, name, bytes, bytesMax);
  }
  return bytes;
}

async function collect(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytesMax) throw tooLarge(bytesMax);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function decoded(decoder: Decoder, name: string, bytes: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  try {
    return await decoder(bytes, { maxOutputLength: bytesMax });
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(bytesMax);
    throw new OutboundError('network', `expected a response encoded as ${name}, got a damaged one`, { cause });
  }
}

function tooLarge(bytesMax: number): OutboundError {
  return new OutboundError(
    'limit',
    `expected a response of at most ${bytesMax} bytes, got a larger one; an operator can raise MILLRACE_OUTBOUND_BYTES_MAX`,
  );
}
