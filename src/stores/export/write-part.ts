import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import type { Column, Row, RowWriter } from './columns.ts';
import type { ExportCompression, ExportFormat } from '../../wire/contract/exports.ts';
import { csvWriter } from './write-csv.ts';
import { ndjsonWriter } from './write-ndjson.ts';

export interface FileForm {
  readonly format: ExportFormat;
  readonly compression: ExportCompression;
}

const endings = { none: '', gzip: '.gz', zstd: '.zst' } as const;

/** Returns `.ndjson.gz`; Parquet is compressed within. */
export function fileEnding({ format, compression }: FileForm): string {
  return format === 'parquet' ? '.parquet' : `.${format}${endings[compression]}`;
}

/** Encodes the pages of a part as a file. Equal rows give equal bytes. */
export async function* encodePart(
  form: FileForm,
  columns: readonly Column[],
  pages: AsyncIterable<readonly Row[]>,
): AsyncGenerator<Uint8Array> {
  const writer = await writerOf(form, columns);
  const chunks = encodedRows(writer, pages);
  yield* form.format === 'parquet' ? chunks : packed(chunks, form.compression);
}

async function writerOf({ format, compression }: FileForm, columns: readonly Column[]): Promise<RowWriter> {
  if (format === 'ndjson') return ndjsonWriter(columns);
  if (format === 'csv') return csvWriter(columns);
  // Loaded when it is needed.
  const { parquetWriter } = await import('./write-parquet.ts');
  return parquetWriter(columns, compression);
}

async function* encodedRows(writer: RowWriter, pages: AsyncIterable<readonly Row[]>): AsyncGenerator<Uint8Array> {
  yield writer.begin();
  for await (const rows of pages) yield writer.add(rows);
  yield writer.end();
}

async function* packed(chunks: AsyncIterable<Uint8Array>, compression: ExportCompression): AsyncGenerator<Uint8Array> {
  if (compression === 'none') {
    yield* chunks;
    return;
  }
  const packer = compression === 'gzip' ? createGzip() : createZstdCompress();
  const feeding = pipeline(Readable.from(chunks, { objectMode: false }), packer);
  // It also ends the packer with its error, which the loop throws.
  feeding.catch(() => undefined);
  for await (const chunk of packer) yield chunk as Buffer;
  await feeding;
}
