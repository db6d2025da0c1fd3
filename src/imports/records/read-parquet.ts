import type { AsyncBuffer, FileMetaData, SchemaElement } from 'hyparquet';
import { open, type FileHandle } from 'node:fs/promises';
import { SourceError, SourceWaitError } from '../source.ts';
import { createNotFinite } from './not-finite.ts';
import { createLineWriter, type Piece } from './piece.ts';
import { checkPages } from './parquet-pages.ts';
import {
  jsonColumn,
  mayBeNotFinite,
  parquetParsers,
  plainSchema,
  type Convert,
  type ParquetColumn,
} from './parquet-values.ts';

/** Of values that are decoded at once, as the file counts them; a row group may be larger. */
const batchBytes = 32 * 1024 * 1024;
const batchRowsMax = 20_000;
/** Columns within columns. */
const depthMax = 100;

export interface ParquetHints {
  readonly name: string;
  readonly signal: AbortSignal;
  /** Hears how many bytes of the file the rows read so far take, about. */
  readonly onRead: (bytes: number) => void;
}

type Rows = Record<string, unknown>[];

interface Column {
  readonly name: string;
  readonly convert: Convert;
  /** It may hold NaN and Infinity. */
  readonly isFloating: boolean;
}

/**
 * Rows as objects, some thousand at a time. Memory holds the compressed bytes of one row group and one batch of rows.
 * Times become ISO 8601, dates YYYY-MM-DD, integers and decimals that a number does not hold exactly become text, bytes base64.
 * Bytes that are UTF-8 become text. Pages whose checksum is wrong are never read.
 * @throws SourceWaitError when the file is truncated or damaged, SourceError when it uses what cannot be read
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
  const notFinite = createNotFinite();
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
      throw damaged(hints.name, `rows ${start + 1} to ${end} are expected, and ${rows.length} of them are there`);
    }
    hints.onRead(Math.floor((size * end) / Math.max(1, total)));
    for (const row of rows) {
      const record = recordOf(row, columns);
      notFinite.look(floating.map((name) => [name, record[name]]));
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

/** The schema is a tree, laid out in depth-first order below its root; no number in it is believed. */
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

/** Never across row groups, so that each group's bytes are let go before the next one's come. */
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
