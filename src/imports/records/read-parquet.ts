import type { AsyncBuffer, FileMetaData, SchemaElement, ColumnMetaData } from 'hyparquet';
import { open, type FileHandle } from 'node:fs/promises';
import { SourceError, SourceWaitError } from '../source.ts';
import {
  createNotFiniteCounter,
  jsonColumn,
  mayBeNotFinite,
  parquetParsers,
  plainSchema,
  type Convert,
  type ParquetColumn,
} from './parquet-values.ts';
import { createLineWriter, type Piece } from './piece.ts';
import { crc32 } from 'node:zlib';

/** Approximate size of the values decoded at a time; a row group may be larger. */
const batchBytes = 32 * 1024 * 1024;
const batchRowsMax = 20_000;
/** Limit of nested columns. */
const depthMax = 100;

interface ParquetHints {
  readonly name: string;
  readonly signal: AbortSignal;
  /** Receives the approximate bytes of the file for the rows read so far. */
  readonly onRead: (bytes: number) => void;
}

type Rows = Record<string, unknown>[];

interface Column {
  readonly name: string;
  readonly convert: Convert;
  /** Whether it may contain NaN and Infinity. */
  readonly isFloating: boolean;
}

/**
 * Reads rows as objects, a few thousand at a time. Memory holds the compressed bytes of one row group and one batch of rows.
 * Times become ISO 8601, dates YYYY-MM-DD, integers and decimals that a double does not represent exactly become text, bytes
 * base64 or, if they are UTF-8, text. Pages with a wrong checksum are never read.
 * @throws SourceWaitError if the file is truncated or damaged, SourceError if it uses unsupported features
 */
export async function* readParquet(path: string, hints: ParquetHints): AsyncGenerator<Piece> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    yield* readRows(fileBuffer(handle, size), size, hints);
  } finally {
    await handle.close();
  }
}

async function* readRows(file: AsyncBuffer, size: number, hints: ParquetHints): AsyncGenerator<Piece> {
  const { parquetReadObjects } = await import('hyparquet');
  const { compressors } = await import('hyparquet-compressors');
  const { metadata, columns } = await readSchema(file, size, hints.name);
  const floating = columns.filter(({ isFloating }) => isFloating).map(({ name }) => name);
  const notFinite = createNotFiniteCounter();
  const noted = (piece: Piece): Piece => ({ ...piece, notes: notFinite.take() });
  const total = Number(metadata.num_rows);
  const writer = createLineWriter();
  let checked = 0;
  for (const { start, end, group } of batches(metadata)) {
    hints.signal.throwIfAborted();
    for (; checked <= group; checked += 1) await checkPages(file, metadata, { group: checked, name: hints.name });
    const range = { file, metadata, rowStart: start, rowEnd: end, useOffsetIndex: true, utf8: false };
    const rows: Rows = await parquetReadObjects({ ...range, compressors, parsers: parquetParsers }).catch(
      (error: unknown) => {
        throw new SourceError(
          `the Parquet file ${hints.name} cannot be read at row ${start + 1}: ${messageOf(error)}`,
          {
            cause: error,
          },
        );
      },
    );
    if (rows.length !== end - start) {
      throw damaged(hints.name, `expected rows ${start + 1} to ${end}, got ${rows.length} of them`);
    }
    hints.onRead(Math.floor((size * end) / Math.max(1, total)));
    for (const row of rows) {
      const record = recordOf(row, columns);
      notFinite.count(floating.map((name) => [name, record[name]]));
      writer.text(JSON.stringify(record));
      const piece = writer.take();
      if (piece !== undefined) yield noted(piece);
    }
  }
  const last = writer.take(true);
  if (last !== undefined) yield noted(last);
}

async function readSchema(
  file: AsyncBuffer,
  size: number,
  name: string,
): Promise<{ metadata: FileMetaData; columns: readonly Column[] }> {
  const { parquetMetadataAsync } = await import('hyparquet');
  let metadata: FileMetaData;
  try {
    metadata = await parquetMetadataAsync(file, { geoparquet: false });
  } catch (error) {
    throw new SourceWaitError(
      `the Parquet file ${name} has no readable footer at byte ${size} (${messageOf(error)}): is it truncated? fetch or export it again`,
      { unlimited: false, cause: error },
    );
  }
  const columns = topLevel(metadata.schema, name).map((column) => ({
    name: column.element.name,
    convert: jsonColumn(column),
    isFloating: mayBeNotFinite(column),
  }));
  return { metadata: { ...metadata, schema: metadata.schema.map(plainSchema) }, columns };
}

/** The schema is a tree in depth-first order below its root; its numbers are not trusted. */
function topLevel(schema: readonly SchemaElement[], name: string): ParquetColumn[] {
  let at = 1;
  const next = (depth: number): ParquetColumn => {
    const element = schema[at];
    if (element === undefined || depth > depthMax) {
      throw damaged(name, `its schema has ${schema.length} elements, and claims more or nests them too deep`);
    }
    at += 1;
    const children: ParquetColumn[] = [];
    for (let child = 0; child < (element.num_children ?? 0); child += 1) children.push(next(depth + 1));
    return { element, children };
  };
  const found: ParquetColumn[] = [];
  while (at < schema.length) found.push(next(1));
  if (found.length === 0) throw damaged(name, 'its schema has no columns');
  return found;
}

function damaged(name: string, what: string): SourceWaitError {
  const message = `the Parquet file ${name} is damaged: ${what}; fetch or export it again`;
  return new SourceWaitError(message, { unlimited: false });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Batches never span row groups, so that a group's bytes are released before the next group is read. */
function* batches(metadata: FileMetaData): Generator<{ start: number; end: number; group: number }> {
  let start = 0;
  for (const [index, group] of metadata.row_groups.entries()) {
    const rows = Number(group.num_rows);
    const rowBytes = Math.max(1, Number(group.total_byte_size) / Math.max(1, rows));
    const step = Math.max(100, Math.min(batchRowsMax, Math.floor(batchBytes / rowBytes)));
    for (let from = 0; from < rows; from += step) {
      yield { start: start + from, end: start + Math.min(rows, from + step), group: index };
    }
    start += rows;
  }
}

function recordOf(row: Record<string, unknown>, columns: readonly Column[]): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const { name, convert } of columns) {
    const value = row[name];
    out[name] = value === undefined || value === null ? null : convert(value);
  }
  return out;
}

function fileBuffer(handle: FileHandle, size: number): AsyncBuffer {
  return {
    byteLength: size,
    async slice(start, end = size) {
      const bytes = new Uint8Array(Math.max(0, Math.min(end, size) - start));
      for (let done = 0; done < bytes.length;) {
        const { bytesRead } = await handle.read(bytes, done, bytes.length - done, start + done);
        if (bytesRead === 0) throw new Error(`the file ends at byte ${start + done}`);
        done += bytesRead;
      }
      return bytes.buffer;
    },
  };
}

/** Limit of a page header, with room for statistics of long texts. */
const headBytes = 64 * 1024;

interface Place {
  /** From 0. */
  readonly group: number;
  readonly name: string;
}

/**
 * Verifies the pages of a row group against their checksums, if the writer added any.
 * @throws SourceWaitError if a page differs
 */
async function checkPages(file: AsyncBuffer, metadata: FileMetaData, place: Place): Promise<void> {
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
    // A writer adds checksums to all pages or to none of them.
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
  /** Size of the page after the header, compressed. */
  readonly bytes: number;
  readonly crc: number | undefined;
}

const bytesField = 3;
const crcField = 4;

/** Reads the header, a struct of Thrift's compact protocol; `undefined` if it is invalid. */
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

/** Returns the whole numbers of a struct by field and skips everything else. Throws RangeError if it ends early or is invalid. */
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

/** Sound up to 53 bits, more than sizes and checksums have. */
function varint(reader: Reader): number {
  let value = 0;
  for (let factor = 1; factor < 2 ** 70; factor *= 128) {
    const byte = reader.bytes.readUInt8(reader.at);
    reader.at += 1;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
  throw new RangeError('a number is too long');
}

function zigzag(reader: Reader): number {
  const value = varint(reader);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
