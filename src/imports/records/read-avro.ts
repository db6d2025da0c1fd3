import type { Schema } from 'avsc';
import { promisify } from 'node:util';
import { crc32, inflateRaw, zstdDecompress } from 'node:zlib';
import { isObject } from '../../base/json.ts';
import { SourceError, SourceWaitError } from '../source.ts';
import { avroDecoder, type AvroDecoder } from './avro-types.ts';
import { createNotFiniteCounter } from './parquet-values.ts';
import { createLineWriter, type Piece } from './piece.ts';

/** Limit of a decompressed block; writers create blocks of a few hundred KB. */
const blockBytesMax = 256 * 1024 * 1024;
/** Limit of records without content in a block, since they take no bytes. */
const emptyRecordsMax = 100_000;
const syncBytes = 16;
const avroMagic = Buffer.from('Obj\u0001');

/** Reads sequentially; each call waits for the requested bytes. */
interface Bytes {
  /** Returns `undefined` if the file ends exactly here. Throws SourceWaitError if it ends within. */
  take(count: number): Promise<Buffer | undefined>;
  /** Reads a whole number in Avro's encoding: zigzag, seven bits per byte. */
  whole(): Promise<number | undefined>;
}

/**
 * Reads records of an Avro object container file, block by block, as objects.
 * @throws SourceWaitError if it is truncated or damaged, SourceError if it uses unsupported features
 */
export async function* readAvro(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Piece> {
  const bytes = bytesOf(chunks, name);
  const { decoder, unpack, sync } = await readHeader(bytes, name);
  const writer = createLineWriter();
  const notFinite = createNotFiniteCounter();
  const noted = (piece: Piece): Piece => ({ ...piece, notes: notFinite.take() });
  for (let block = 1; ; block += 1) {
    const count = await bytes.whole();
    if (count === undefined) break;
    const packed = await bytes.take(within(await bytes.whole(), name));
    const mark = await bytes.take(syncBytes);
    if (packed === undefined || mark?.equals(sync) !== true)
      throw damaged(name, `block ${block} lacks its sync marker`);
    const values = await unpack(packed).catch((error: unknown) => {
      throw damaged(name, `block ${block} cannot be unpacked`, error);
    });
    checkCount(count, values.length, `${name}, block ${block}`);
    let at = 0;
    for (let left = count; left > 0; left -= 1) {
      const { value, next } = decoded(decoder, values, at, `${name}, block ${block}`);
      at = next;
      if (isObject(value)) notFinite.count(Object.entries(value));
      writer.text(JSON.stringify(value));
      const piece = writer.take();
      if (piece !== undefined) yield noted(piece);
    }
    if (at < values.length) {
      const rest = `${values.length - at} bytes follow the ${count} records that it should contain`;
      throw damaged(`${name}, block ${block}`, rest);
    }
  }
  const last = writer.take(true);
  if (last !== undefined) yield noted(last);
}

/** A record takes at least one byte, unless its schema has no content. */
function checkCount(count: number, bytes: number, place: string): void {
  if (count < 0) throw damaged(place, `expected a number of records, got ${count}`);
  if (count > bytes && (bytes > 0 || count > emptyRecordsMax)) {
    throw damaged(place, `it should contain ${count} records, but has ${bytes} bytes`);
  }
}

function decoded(decoder: AvroDecoder, block: Buffer, at: number, place: string): ReturnType<AvroDecoder['decode']> {
  try {
    const found = decoder.decode(block, at);
    if (found.next <= block.length) return found;
  } catch (error) {
    throw damaged(place, 'a record does not fit the schema', error);
  }
  throw damaged(place, 'a record continues beyond its block');
}

interface Header {
  readonly decoder: AvroDecoder;
  readonly unpack: (block: Buffer) => Promise<Buffer>;
  readonly sync: Buffer;
}

async function readHeader(bytes: Bytes, name: string): Promise<Header> {
  await bytes.take(avroMagic.length);
  const meta = new Map<string, Buffer>();
  for (let count = await bytes.whole(); count !== 0 && count !== undefined; count = await bytes.whole()) {
    // A negative number of entries is followed by their length.
    if (count < 0) await bytes.whole();
    for (let left = Math.abs(count); left > 0; left -= 1) {
      const key = await bytes.take(within(await bytes.whole(), name));
      const value = await bytes.take(within(await bytes.whole(), name));
      if (key !== undefined && value !== undefined) meta.set(key.toString(), value);
    }
  }
  const sync = await bytes.take(syncBytes);
  if (sync === undefined) throw damaged(name, 'its header is incomplete');
  const codec = meta.get('avro.codec')?.toString() ?? 'null';
  const unpack = unpackers[codec];
  if (unpack === undefined) {
    const known = Object.keys(unpackers).join(', ');
    throw new SourceError(
      `expected an Avro file packed with ${known}, got ${name} with ${codec}: write it with one of these`,
    );
  }
  try {
    const schema = JSON.parse(meta.get('avro.schema')?.toString() ?? '') as Schema;
    return { decoder: avroDecoder(schema), unpack, sync: Buffer.from(sync) };
  } catch (error) {
    throw new SourceError(`the schema in the Avro file ${name} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

const unpackers: Readonly<Record<string, (block: Buffer) => Promise<Buffer>>> = {
  null: (block) => Promise.resolve(block),
  deflate: (block) => promisify(inflateRaw)(block, { maxOutputLength: blockBytesMax }),
  snappy: unsnappy,
  zstandard: (block) => promisify(zstdDecompress)(block, { maxOutputLength: blockBytesMax }),
};

/** The length of the content precedes it, its checksum follows. */
async function unsnappy(block: Buffer): Promise<Buffer> {
  const { snappyUncompress } = await import('hyparquet');
  const { value: length } = varint(block);
  if (length > blockBytesMax) throw new RangeError(`expected at most ${blockBytesMax} bytes in a block, got ${length}`);
  const content = Buffer.alloc(length);
  snappyUncompress(new Uint8Array(block.subarray(0, -4)), content);
  if (crc32(content) !== block.readUInt32BE(block.length - 4)) throw new Error('the checksum differs');
  return content;
}

function varint(bytes: Buffer): { readonly value: number } {
  let value = 0;
  for (const [index, byte] of bytes.subarray(0, 5).entries()) {
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) break;
  }
  return { value };
}

function bytesOf(chunks: AsyncIterable<Buffer>, name: string): Bytes {
  const source = chunks[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);
  const take = async (count: number): Promise<Buffer | undefined> => {
    const parts: Buffer[] = [held];
    let size = held.length;
    while (size < count) {
      const { value, done } = await source.next();
      if (done === true) break;
      parts.push(value);
      size += value.length;
    }
    held = parts.length === 1 ? held : Buffer.concat(parts, size);
    if (size < count) {
      if (size === 0) return undefined;
      throw damaged(name, `it ends within what begins ${size} bytes before its end`);
    }
    const taken = held.subarray(0, count);
    held = held.subarray(count);
    return taken;
  };
  return {
    take,
    async whole() {
      let value = 0n;
      for (let shift = 0n; shift < 70n; shift += 7n) {
        const byte = (await take(1))?.[0];
        if (byte === undefined) {
          if (shift === 0n) return undefined;
          break;
        }
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return Number((value >> 1n) ^ -(value & 1n));
      }
      throw damaged(name, 'a number in it has no end');
    },
  };
}

function within(length: number | undefined, name: string): number {
  if (length !== undefined && length >= 0 && length <= blockBytesMax) return length;
  throw damaged(name, `it claims that ${length ?? 'no'} bytes follow`);
}

function damaged(name: string, what: string, cause?: unknown): SourceWaitError {
  const why = cause === undefined ? '' : ` (${messageOf(cause)})`;
  return new SourceWaitError(`the Avro file ${name} is damaged or truncated: ${what}${why}; fetch or export it again`, {
    unlimited: false,
    cause,
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
