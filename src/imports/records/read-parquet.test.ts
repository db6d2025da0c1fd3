import { parquetMetadata } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SourceError, type ReadingNote } from '../source.ts';
import { readRecordFile } from './read-records.ts';
import { collect } from './record-files.fixture.ts';

type Write = Parameters<typeof parquetWriteBuffer>[0];

async function rowsOf(options: Write): Promise<unknown[]> {
  return (await linesOf(options)).map((line) => JSON.parse(line) as unknown);
}

async function linesOf(options: Write): Promise<readonly string[]> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-parquet-'));
  try {
    const path = join(dir, 'a.parquet');
    await writeFile(path, Buffer.from(parquetWriteBuffer(options)));
    const hints = { name: 'a', signal: new AbortController().signal, tempDir: dir };
    return (await collect(readRecordFile(path, hints))).lines;
  } finally {
    await rm(dir, { recursive: true });
  }
}

describe('Parquet', () => {
  it('times, integers and JSON become exact JSON values', async () => {
    const micros = 1_709_251_200_123_456n;
    const rows = await rowsOf({
      columnData: [
        { name: 'small', data: [1n, null] },
        { name: 'large', data: [9_007_199_254_740_993n, -1n] },
        { name: 'at', data: [new Date('2024-03-01T00:00:00.123Z'), new Date(0)] },
        { name: 'micros', data: [micros, 1_000_000n] },
        { name: 'props', data: [{ a: [1] }, { b: 'ü' }] },
        { name: 'ok', data: [true, false] },
        { name: 'bytes', data: [new Uint8Array([1, 2]), new Uint8Array([255, 254])] },
        { name: 'price', data: [1999n, -5n] },
        { name: 'exact', data: [12_345_678_901_234_567n, 1n] },
        { name: 'day', data: [19_783, 0] },
      ],
      schema: [
        { name: 'root', num_children: 10 },
        { name: 'small', type: 'INT64', repetition_type: 'OPTIONAL' },
        { name: 'large', type: 'INT64', repetition_type: 'REQUIRED' },
        { name: 'at', type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', repetition_type: 'REQUIRED' },
        { name: 'micros', type: 'INT64', repetition_type: 'REQUIRED' },
        { name: 'props', type: 'BYTE_ARRAY', converted_type: 'JSON', repetition_type: 'REQUIRED' },
        { name: 'ok', type: 'BOOLEAN', repetition_type: 'REQUIRED' },
        { name: 'bytes', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2, repetition_type: 'REQUIRED' },
        { name: 'price', type: 'INT64', repetition_type: 'REQUIRED' },
        { name: 'exact', type: 'INT64', repetition_type: 'REQUIRED' },
        { name: 'day', type: 'INT32', repetition_type: 'REQUIRED' },
      ],
    });
    expect(rows[0]).toMatchObject({ small: 1, large: '9007199254740993', at: '2024-03-01T00:00:00.123Z', ok: true });
    expect(rows[0]).toMatchObject({ props: '{"a":[1]}', bytes: 'AQI=' });
    expect(rows[1]).toMatchObject({ small: null, large: -1, at: '1970-01-01T00:00:00.000Z', props: '{"b":"ü"}' });
  });

  it('decimals keep their scale within records, lists and maps, and zero its sign', async () => {
    const decimal = { type: 'INT64', converted_type: 'DECIMAL', precision: 18, repetition_type: 'OPTIONAL' } as const;
    const price = { ...decimal, name: 'price', scale: 2 };
    const rows = await linesOf({
      columnData: [
        { name: 'order', data: [{ price: 1999n, shares: [150n, -5n] }] },
        { name: 'rates', data: [{ eur: 123_456_789_012_345_678n }] },
        { name: 'unsigned', data: [18_446_744_073_709_551_615n] },
        { name: 'zero', data: [-0] },
      ],
      schema: [
        { name: 'root', num_children: 4 },
        { name: 'order', num_children: 2, repetition_type: 'OPTIONAL' },
        price,
        { name: 'shares', converted_type: 'LIST', num_children: 1, repetition_type: 'OPTIONAL' },
        { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
        { ...decimal, name: 'element', scale: 1 },
        { name: 'rates', converted_type: 'MAP', num_children: 1, repetition_type: 'OPTIONAL' },
        { name: 'key_value', num_children: 2, repetition_type: 'REPEATED' },
        { name: 'key', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
        { ...decimal, name: 'value', scale: 3 },
        { name: 'unsigned', type: 'INT64', converted_type: 'UINT_64', repetition_type: 'REQUIRED' },
        { name: 'zero', type: 'DOUBLE', repetition_type: 'REQUIRED' },
      ],
    });
    expect(rows).toEqual([
      '{"order":{"price":19.99,"shares":[15,-0.5]},"rates":{"eur":"123456789012345.678"},' +
        '"unsigned":"18446744073709551615","zero":-0}',
    ]);
  });

  it('decimals of any width, BSON and intervals become JSON values', async () => {
    const interval = (...numbers: readonly number[]): Uint8Array => new Uint8Array(Uint32Array.from(numbers).buffer);
    const bytes = { type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' } as const;
    const rows = await rowsOf({
      columnData: [
        { name: 'price', data: [1999n, -5n, 123_456_789_012_345_678_901_234_567_890n] },
        { name: 'doc', data: [new Uint8Array([5, 0, 0, 0, 0]), new Uint8Array([65]), new Uint8Array()] },
        { name: 'span', data: [interval(1, 2, 3004), interval(0, 0, 0), interval(14, 0, 86_400_000)] },
      ],
      schema: [
        { name: 'root', num_children: 3 },
        { ...bytes, name: 'price', converted_type: 'DECIMAL', precision: 38, scale: 2 },
        { ...bytes, name: 'doc', converted_type: 'BSON' },
        { ...bytes, name: 'span', type: 'FIXED_LEN_BYTE_ARRAY', type_length: 12, converted_type: 'INTERVAL' },
      ],
    });
    expect(rows).toEqual([
      { price: 19.99, doc: 'BQAAAAA=', span: 'P1M2DT3.004S' },
      { price: -0.05, doc: 'QQ==', span: 'P0M0DT0S' },
      { price: '1234567890123456789012345678.90', doc: '', span: 'P14M0DT86400S' },
    ]);
  });

  it('reads many row groups and many batches in order', async () => {
    const count = 45_000;
    const rows = await rowsOf({
      columnData: [
        { name: 'n', data: Array.from({ length: count }, (_, index) => index), type: 'INT32' },
        { name: 'text', data: Array.from({ length: count }, (_, index) => `row ${index}`), type: 'STRING' },
      ],
      rowGroupSize: 30_000,
    });
    expect(rows.length).toBe(count);
    expect(rows.every((row, index) => JSON.stringify(row) === `{"n":${index},"text":"row ${index}"}`)).toBe(true);
  });
});

describe('Parquet files of pyarrow', () => {
  const folder = join(import.meta.dirname, '../../../test/fixtures/parquet');
  const files = ['pages.parquet', 'pages-v2.parquet'];
  const readBytes = async (bytes: Buffer): Promise<unknown[]> => {
    const dir = await mkdtemp(join(tmpdir(), 'millrace-parquet-'));
    try {
      const path = join(dir, 'a.parquet');
      await writeFile(path, bytes);
      const hints = { name: 'a.parquet', signal: new AbortController().signal, tempDir: dir };
      return (await collect(readRecordFile(path, hints))).lines.map((line) => JSON.parse(line) as unknown);
    } finally {
      await rm(dir, { recursive: true });
    }
  };

  it.each(files)(
    '%s: bytes, times of the day, wide decimals, halves and unsigned numbers keep what they are',
    async (file) => {
      expect(await readBytes(await readFile(join(folder, file)))).toEqual([
        {
          event: 'a',
          bytes: 'plain',
          at: '23:59:59.123456',
          at_ms: '23:59:59.123',
          at_ns: '23:59:59.123456',
          big: '123456789012345678901234567890123456789012.5',
          half: 1.5,
          float: 0.5,
          unsigned: '18446744073709551615',
        },
        {
          event: 'b',
          bytes: 'AP/+',
          at: '00:00:01.000',
          at_ms: '00:00:01.000',
          at_ns: '00:00:00.000001',
          big: -0.5,
          half: null,
          float: null,
          unsigned: 0,
        },
        {
          event: 'ü€',
          bytes: null,
          at: null,
          at_ms: null,
          at_ns: null,
          big: null,
          half: null,
          float: null,
          unsigned: null,
        },
      ]);
    },
  );

  it.each(files)(
    '%s: a page with a wrong checksum is refused, with the file, the row group and the column',
    async (file) => {
      const bytes = await readFile(join(folder, file));
      const metadata = parquetMetadata(new Uint8Array(bytes).buffer);
      for (const [group, { columns }] of metadata.row_groups.entries()) {
        for (const { meta_data: column } of columns) {
          if (column === undefined) continue;
          const start = Number(column.dictionary_page_offset ?? column.data_page_offset);
          const last = start + Number(column.total_compressed_size) - 1;
          const changed = Buffer.from(bytes);
          changed[last] = (changed[last] ?? 0) ^ 1;
          await expect(readBytes(changed)).rejects.toThrow(
            new RegExp(
              `a\\.parquet is damaged in row group ${group + 1}, column ${column.path_in_schema[0]}: the checksum`,
            ),
          );
        }
      }
    },
  );

  it.each(files)('%s: numbers that JSON cannot represent are counted, with their columns', async (file) => {
    const notes: ReadingNote[] = [];
    const hints = { name: file, signal: new AbortController().signal, tempDir: tmpdir() };
    for await (const chunk of readRecordFile(join(folder, file), hints)) notes.push(...(chunk.notes ?? []));
    const sum = (of: 'count' | 'amount'): number => notes.reduce((all, note) => all + (note[of] ?? 0), 0);
    expect([sum('count'), sum('amount')]).toEqual([2, 3]);
    expect(new Set(notes.map(({ sample }) => sample))).toEqual(new Set(['half', 'float']));
    expect(new Set(notes.map(({ of }) => of))).toEqual(new Set(['numbers_not_finite']));
  });

  it('a schema that claims more columns than it has is rejected', async () => {
    const bytes = Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'a', data: ['x'], type: 'STRING' }] }));
    // The root's number of children: one, as a zigzag number behind its name.
    const at = bytes.lastIndexOf('root') + 'root'.length;
    expect(bytes.subarray(at, at + 2)).toEqual(Buffer.from([0x15, 2]));
    const claimed = Buffer.concat([bytes.subarray(0, at + 1), Buffer.from([0xfe, 0xff, 0xff, 0xff, 0x0f])]);
    const rest = bytes.subarray(at + 2);
    rest.writeUInt32LE(rest.readUInt32LE(rest.length - 8) + 4, rest.length - 8);
    await expect(readBytes(Buffer.concat([claimed, rest]))).rejects.toThrow(SourceError);
  });
});
