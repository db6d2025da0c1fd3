import { gzipSync, zstdCompressSync } from 'node:zlib';
import { ByteWriter, ParquetWriter } from 'hyparquet-writer';
import { nothing, type Column, type Row, type RowWriter, type Value } from './columns.ts';

export type ParquetCompression = 'none' | 'gzip' | 'zstd';

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

const codecs = { none: 'UNCOMPRESSED', gzip: 'GZIP', zstd: 'ZSTD' } as const;
/** Limits of a row group, which is in memory until it is written. */
const groupRowsMax = 20_000;
const groupCharsMax = 8 * 1024 * 1024;

/** Times are TIMESTAMP in µs, UTC; JSON is text, which every reader takes. All columns may be null. */
export function parquetWriter(columns: readonly Column[], compression: ParquetCompression): RowWriter {
  const out = new ByteWriter();
  const writer = new ParquetWriter({
    writer: out,
    schema: [{ name: 'root', num_children: columns.length }, ...columns.map(elementOf)],
    codec: codecs[compression],
    compressors: { GZIP: (bytes) => gzipSync(bytes), ZSTD: (bytes) => zstdCompressSync(bytes) },
    createdBy: 'millrace',
  });
  let group: Row[] = [];
  let chars = 0;
  const writeGroup = (): void => {
    if (group.length === 0) return;
    const columnData = columns.map(({ name, type }, at) => ({
      name,
      data: group.map((row) => valueOf(row[at], type)),
    }));
    void writer.write({ columnData, rowGroupSize: group.length });
    group = [];
    chars = 0;
  };
  const written = (): Uint8Array => {
    if (out.index === 0) return nothing;
    const bytes = out.getBytes().slice();
    // The offset in the file stays.
    out.index = 0;
    return bytes;
  };
  return {
    begin: written,
    add: (rows) => {
      for (const row of rows) {
        group.push(row);
        chars += charsOf(row);
        if (group.length >= groupRowsMax || chars >= groupCharsMax) writeGroup();
      }
      return written();
    },
    end: () => {
      writeGroup();
      void writer.finish();
      return written();
    },
  };
}

function charsOf(row: Row): number {
  return row.reduce((sum, value) => sum + (typeof value === 'string' ? value.length : 8), 0);
}

function elementOf({ name, type }: Column): SchemaElement {
  const column = { name, repetition_type: 'OPTIONAL' } as const;
  switch (type) {
    case 'text':
    case 'json':
      return { ...column, type: 'BYTE_ARRAY', converted_type: 'UTF8' };
    case 'time':
      return {
        ...column,
        type: 'INT64',
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
      };
    case 'integer':
      return { ...column, type: 'INT64' };
    case 'boolean':
      return { ...column, type: 'BOOLEAN' };
  }
}

function valueOf(value: Value | undefined, type: Column['type']): unknown {
  return value === undefined || (type === 'boolean' && typeof value !== 'boolean') ? null : value;
}
