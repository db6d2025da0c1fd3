import type { AsyncBuffer, ColumnMetaData, FileMetaData } from 'hyparquet';
import { crc32 } from 'node:zlib';
import { SourceWaitError } from '../source.ts';

/** Of a page's header, with room for statistics of long texts. */
const headBytes = 64 * 1024;

interface Place {
  /** From 0. */
  readonly group: number;
  readonly name: string;
}

/**
 * Compares the pages of a row group with their checksums, where the writer has written any. What is decoded afterwards is what was
 * written.
 * @throws SourceWaitError when a page is another one than was written
 */
export async function checkPages(file: AsyncBuffer, metadata: FileMetaData, place: Place): Promise<void> {
  for (const { meta_data: column } of metadata.row_groups[place.group]?.columns ?? []) {
    if (column !== undefined) await checkColumn(file, column, place);
  }
}

async function checkColumn(file: AsyncBuffer, column: ColumnMetaData, place: Place): Promise<void> {
  const refuse = (what: string): never => {
    const where = `row group ${place.group + 1}, column ${column.path_in_schema.join('.')}`;
    const message = `the Parquet file ${place.name} is damaged in ${where}: ${what}; fetch or export it again`;
    throw new SourceWaitError(message, { unlimited: false });
  };
  const dictionary = Number(column.dictionary_page_offset ?? 0n);
  const data = Number(column.data_page_offset);
  const start = dictionary > 0 && dictionary < data ? dictionary : data;
  const end = start + Number(column.total_compressed_size);
  if (!(start >= 0 && end >= start && end <= file.byteLength)) refuse(`bytes ${start} to ${end} are not in the file`);
  let number = 1;
  for (let at = start; at < end; number += 1) {
    const bytes = Buffer.from(await file.slice(at, Math.min(end, at + headBytes)));
    const page = pageHead(bytes) ?? refuse(`page ${number} has no readable header`);
    // A writer gives checksums to all pages or to none.
    if (page.crc === undefined) return;
    const from = at + page.headerBytes;
    if (!(page.bytes >= 0 && from + page.bytes <= end)) refuse(`page ${number} continues beyond its column`);
    const content = Buffer.from(await file.slice(from, from + page.bytes));
    if (crc32(content) !== page.crc >>> 0) refuse(`the checksum of page ${number} is wrong`);
    at = from + page.bytes;
  }
}

interface PageHead {
  readonly headerBytes: number;
  /** Of the page behind the header, as it lies in the file. */
  readonly bytes: number;
  readonly crc: number | undefined;
}

const bytesField = 3;
const crcField = 4;

/** The header is a struct of Thrift's compact protocol; undefined: it is none. */
function pageHead(bytes: Buffer): PageHead | undefined {
  const reader = { bytes, at: 0 };
  try {
    const fields = readStruct(reader, 0);
    const size = fields.get(bytesField);
    return size === undefined ? undefined : { headerBytes: reader.at, bytes: size, crc: fields.get(crcField) };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

interface Reader {
  readonly bytes: Buffer;
  at: number;
}

const structsMax = 16;
const kinds = { yes: 1, no: 2, byte: 3, double: 7, binary: 8, list: 9, set: 10, struct: 12 };

/** Its whole numbers by their field; everything else is passed over. Throws RangeError where it ends too early or is none. */
function readStruct(reader: Reader, depth: number): Map<number, number> {
  if (depth > structsMax) throw new RangeError('structs are nested too deep');
  const numbers = new Map<number, number>();
  for (let field = 0; ;) {
    const head = reader.bytes.readUInt8(reader.at);
    reader.at += 1;
    if (head === 0) return numbers;
    field = head >> 4 === 0 ? zigzag(reader) : field + (head >> 4);
    const number = readElement(reader, head & 15, depth);
    if (number !== undefined) numbers.set(field, number);
  }
}

function readElement(reader: Reader, kind: number, depth: number): number | undefined {
  if (kind === kinds.yes || kind === kinds.no) return undefined;
  if (kind === kinds.byte) return skip(reader, 1);
  if (kind > kinds.byte && kind < kinds.double) return zigzag(reader);
  if (kind === kinds.double) return skip(reader, 8);
  if (kind === kinds.binary) return skip(reader, varint(reader));
  if (kind === kinds.struct) return void readStruct(reader, depth + 1);
  if (kind !== kinds.list && kind !== kinds.set) throw new RangeError(`Thrift has no kind ${kind}`);
  const head = reader.bytes.readUInt8(reader.at);
  reader.at += 1;
  const count = head >> 4 === 15 ? varint(reader) : head >> 4;
  const each = head & 15;
  if (count > reader.bytes.length) throw new RangeError('a list is longer than the header');
  for (let left = count; left > 0; left -= 1) {
    if (each === kinds.yes || each === kinds.no) skip(reader, 1);
    else readElement(reader, each, depth + 1);
  }
  return undefined;
}

function skip(reader: Reader, count: number): undefined {
  if (count < 0 || reader.at + count > reader.bytes.length) throw new RangeError('the header ends too early');
  reader.at += count;
  return undefined;
}

/** Sound for 53 bits, which sizes and checksums have not. */
function varint(reader: Reader): number {
  let value = 0;
  for (let factor = 1; factor < 2 ** 70; factor *= 128) {
    const byte = reader.bytes.readUInt8(reader.at);
    reader.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
  throw new RangeError('a number has no end');
}

function zigzag(reader: Reader): number {
  const value = varint(reader);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
