import { parquetWriteBuffer } from 'hyparquet-writer';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { makeTar, makeZip } from '../../../test/support/archives.ts';
import { packBzip2 } from '../../../test/support/pack-bzip2.ts';
import { packXz } from '../../../test/support/pack-xz.ts';
import { readRecords, type ReadHints } from './read-records.ts';

/** The same records in every form and wrapping, for tests. Values are texts, since CSV has no others. */
export type TextRecord = Readonly<Record<'event' | 'id' | 'note', string>>;

export const writeAs: Readonly<Record<string, (records: readonly TextRecord[]) => Buffer>> = {
  ndjson: (records) => Buffer.from(records.map((each) => `${JSON.stringify(each)}\n`).join('')),
  'ndjson without a last line break': (records) =>
    Buffer.from(records.map((each) => JSON.stringify(each)).join('\r\n')),
  array: (records) => Buffer.from(JSON.stringify(records)),
  'array over several lines': (records) => Buffer.from(`\ufeff ${JSON.stringify(records, null, 2)}\n`),
  'objects over several lines': (records) =>
    Buffer.from(records.map((each) => JSON.stringify(each, null, 2)).join('\n')),
  batch: (records) => Buffer.from(JSON.stringify({ api_key: 'k', meta: { batch: [] }, batch: records, sent_at: 'x' })),
  'batches one after the other': (records) =>
    Buffer.from(records.map((each) => JSON.stringify({ batch: [each] })).join('\n')),
  csv: (records) => csvOf(records, ',', '\r\n'),
  'csv with semicolons': (records) => csvOf(records, ';', '\n'),
  'csv with tabs': (records) => Buffer.concat([Buffer.from('\ufeff'), csvOf(records, '\t', '\n')]),
  parquet: parquetOf,
};

export const wrapIn: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  nothing: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes),
  'gzip of two members': (bytes) => inTwo(bytes, (part) => gzipSync(part)),
  'gzip in gzip': (bytes) => gzipSync(gzipSync(bytes)),
  zstd: (bytes) => zstdCompressSync(bytes),
  'zstd of two frames': (bytes) => inTwo(bytes, (part) => zstdCompressSync(part)),
  zip: (bytes) =>
    makeZip([
      { path: 'dir', kind: 'folder' },
      { path: '__MACOSX/x', content: 'x' },
      { path: 'a', content: bytes },
    ]),
  xz: (bytes) => packXz(bytes),
  'xz of two streams': (bytes) => inTwo(bytes, packXz),
  'xz in xz': (bytes) => packXz(packXz(bytes)),
  bzip2: (bytes) => packBzip2(bytes),
  'bzip2 of two streams': (bytes) => inTwo(bytes, packBzip2),
  tar: tarOf,
  'tar in gzip': (bytes) => gzipSync(tarOf(bytes)),
  'tar in xz': (bytes) => packXz(tarOf(bytes)),
  'tar in bzip2': (bytes) => packBzip2(tarOf(bytes)),
  'gzip in tar': (bytes) => tarOf(gzipSync(bytes)),
  'gzip in zip': (bytes) => makeZip([{ path: 'a.gz', content: gzipSync(bytes) }]),
  'zip in gzip': (bytes) => gzipSync(makeZip([{ path: 'a', content: bytes }])),
};

function tarOf(bytes: Buffer): Buffer {
  return makeTar([
    { path: 'dir/', kind: 'folder' },
    { path: '../../etc/passwd', kind: 'link', target: '/etc/passwd' },
    { path: 'dir/._a', content: 'x' },
    { path: '../../a', content: bytes },
  ]);
}

function inTwo(bytes: Buffer, pack: (part: Buffer) => Buffer): Buffer {
  const middle = bytes.length >> 1;
  return Buffer.concat([pack(bytes.subarray(0, middle)), pack(bytes.subarray(middle))]);
}

function csvOf(records: readonly TextRecord[], delimiter: string, lineBreak: string): Buffer {
  const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`;
  const cell = (value: string): string => (/^[\w .-]+$/.test(value) ? value : quoted(value));
  const rows = records.map(({ event, id, note }) => [event, id, note].map(cell).join(delimiter));
  return Buffer.from([['event', 'id', 'note'].join(delimiter), ...rows].map((row) => row + lineBreak).join(''));
}

function parquetOf(records: readonly TextRecord[]): Buffer {
  const column = (name: keyof TextRecord) => ({
    name,
    data: records.map((each) => each[name]),
    type: 'STRING' as const,
  });
  return Buffer.from(
    parquetWriteBuffer({ columnData: [column('event'), column('id'), column('note')], rowGroupSize: 7 }),
  );
}

/** Cuts bytes at these positions; positions beyond the end are ignored. */
export async function* cutAt(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const inside = cuts.filter((at) => at < bytes.length).toSorted((a, b) => a - b);
  for (const [index, at] of [0, ...inside].entries()) yield bytes.subarray(at, inside[index] ?? bytes.length);
}

export interface ReadBack {
  readonly lines: readonly string[];
  readonly faults: readonly { readonly place: string; readonly reason: string; readonly original: string }[];
  readonly bytesRead: number;
}

export async function readBack(chunks: AsyncIterable<Buffer>, hints: ReadHints): Promise<ReadBack> {
  return await collect(readRecords(chunks, hints));
}

export async function collect(chunks: ReturnType<typeof readRecords>): Promise<ReadBack> {
  const lines: string[] = [];
  const faults: ReadBack['faults'][number][] = [];
  let bytesRead = 0;
  for await (const chunk of chunks) {
    const text = chunk.lines.toString();
    if (text !== '' && !text.endsWith('\n')) throw new Error(`expected whole lines, got: ${text.slice(-40)}`);
    const own = text === '' ? [] : text.slice(0, -1).split('\n');
    if (own.length !== chunk.count) throw new Error(`expected ${chunk.count} lines, got ${own.length}`);
    lines.push(...own);
    faults.push(...(chunk.faults ?? []));
    bytesRead = chunk.bytesRead;
  }
  return { lines, faults, bytesRead };
}
