import { isTar } from './tar-members.ts';
import { isOneString, linesWithCommas, severalOnALine, wrappedList } from './frames.ts';
import { faultsIn, type CsvDialect } from './read-csv.ts';
import { layoutOfObject, type ValueLayout } from './read-values.ts';

/** What a file is, by its first bytes; its name says too little. */
export type Container =
  | 'gzip'
  | 'zstd'
  | 'bzip2'
  | 'xz'
  | 'utf16'
  | 'zip'
  | 'tar'
  | 'parquet'
  | 'avro'
  | 'text'
  | 'empty';

export type TextForm =
  /** `dress`: each record stands between commas, or is the text of a JSON string. */
  | { readonly kind: 'lines'; readonly dress?: 'commas' | 'strings' }
  /** `list`: the member of a batch that holds the records. */
  | { readonly kind: 'values'; readonly layout: ValueLayout; readonly list?: string }
  /** A JSON text sequence (RFC 7464). */
  | { readonly kind: 'sequence' }
  | ({ readonly kind: 'csv' } & CsvDialect)
  /** Each line is a record as it is, and no JSON. */
  | { readonly kind: 'texts' }
  /** One sentence: what came and what to do. `isData`: it may well hold records, in a form that is not read. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly isData: boolean };

/** Undefined: any byte. */
const containers: readonly (readonly [start: readonly (number | undefined)[], container: Container])[] = [
  [[0x1f, 0x8b], 'gzip'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'zstd'],
  // "BZh", a digit, and the mark of a block or, of an empty file, of the end: text may begin with BZh too.
  [[0x42, 0x5a, 0x68, undefined, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59], 'bzip2'],
  [[0x42, 0x5a, 0x68, undefined, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90], 'bzip2'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], 'xz'],
  // Byte order marks; unpacked it is text in UTF-8.
  [[0xff, 0xfe], 'utf16'],
  [[0xfe, 0xff], 'utf16'],
  [[0x50, 0x4b, 0x03, 0x04], 'zip'],
  // An archive without members.
  [[0x50, 0x4b, 0x05, 0x06], 'zip'],
  [[0x50, 0x41, 0x52, 0x31], 'parquet'],
  [[0x4f, 0x62, 0x6a, 0x01], 'avro'],
];

const others: readonly (readonly [start: string, name: string, advice?: string])[] = [
  ['7z\xbc\xaf', 'a 7-Zip archive'],
  ['Rar!', 'a RAR archive'],
  ['ORC', 'an ORC file'],
  ['PARE', 'an encrypted Parquet file'],
  ['SQLite format 3', 'an SQLite database', 'import it with the source sqlite and a query'],
  ['<', 'HTML or XML'],
];
const known =
  'expected NDJSON, a JSON array, CSV with a header, Parquet or Avro, plain or in gzip, zstd, xz, bzip2, zip or tar';

export function containerOf(head: Buffer): Container {
  if (head.length === 0) return 'empty';
  const found = containers.find(([start]) => start.every((byte, index) => byte === undefined || head[index] === byte));
  // The other magic numbers of zstd: a frame to be skipped.
  const skipped = head.length >= 4 && (head.readUInt32LE(0) & 0xfffffff0) >>> 0 === 0x184d2a50;
  return found?.[1] ?? (skipped ? 'zstd' : isTar(head) ? 'tar' : 'text');
}

export const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** @param head the first 64 KB, or all when there is less; without byte order mark */
export function textFormOf(head: Buffer, name: string): TextForm {
  const bad = refusalOf(head);
  if (bad !== undefined) return { kind: 'unknown', ...bad };
  const text = head.toString('utf8');
  const start = text.trimStart();
  if (start.startsWith('\u001e')) return { kind: 'sequence' };
  if (/^,\s*\{/.test(start)) return { kind: 'lines', dress: 'commas' };
  if (isOneString(start)) return { kind: 'lines', dress: 'strings' };
  if (start.startsWith('[')) return { kind: 'values', layout: 'array' };
  if (start.startsWith('{')) return objectForm(start);
  // Blank so far; or a damaged first line, which does not change what the file is.
  if (start === '' || isMostlyObjects(start)) return { kind: 'lines' };
  return isMostlyEnriched(text) ? { kind: 'texts' } : csvForm(start, name);
}

/** Documents of any size; a page is one, other XML may be data. */
const documents = /^(%PDF-|\x89PNG|\xff\xd8\xff|GIF8|<!doctype html|<html)/i;

/** Something to read for people: no form in which records come. */
export function isDocument(head: Buffer): boolean {
  return documents.test(head.toString('latin1', 0, 300).trimStart());
}

function refusalOf(head: Buffer): { readonly reason: string; readonly isData: boolean } | undefined {
  const latin = head.toString('latin1', 0, 300).trimStart();
  const found = others.find(([start]) => latin.startsWith(start));
  if (found !== undefined) {
    return { reason: `${known}, got ${found[1]}: ${found[2] ?? 'convert it first'}`, isData: true };
  }
  if (head.toString('latin1', 8, 12) === 'DUCK') {
    const advice = 'import it with the source duckdb and a query';
    return { reason: `${known}, got a DuckDB database: ${advice}`, isData: true };
  }
  // A text may hold a zero somewhere, but hardly in its first line.
  const end = head.indexOf(0x0a);
  if (head.subarray(0, end === -1 ? 4096 : end).includes(0))
    return { reason: `${known}, got binary data: is it encrypted, or of another kind?`, isData: false };
  return undefined;
}

function objectForm(start: string): TextForm {
  const layout = layoutOfObject(Buffer.from(start));
  if (layout === 'batch') return { kind: 'values', layout };
  const list = wrappedList(start);
  if (list !== undefined) return { kind: 'values', layout: 'batch', list };
  if (linesWithCommas(start)) return { kind: 'lines', dress: 'commas' };
  if (layout === 'lines' && !severalOnALine(start)) return { kind: 'lines' };
  return { kind: 'values', layout: 'objects' };
}

/** How a text is read, for people. Undefined: it is not. */
export function readingOf(form: TextForm): string | undefined {
  switch (form.kind) {
    case 'lines':
      return {
        none: 'JSON, one record a line',
        commas: 'JSON, one record a line between commas',
        strings: 'JSON strings that hold a record each, one a line',
      }[form.dress ?? 'none'];
    case 'values':
      if (form.layout === 'batch') return `JSON, records in the list "${form.list ?? 'batch'}"`;
      return form.layout === 'array'
        ? 'JSON arrays of records'
        : 'JSON, one record after the other, whatever the lines';
    case 'sequence':
      return 'a JSON text sequence (RFC 7464)';
    case 'csv':
      return tableReading(form);
    case 'texts':
      return 'text, one record a line';
    case 'unknown':
      return undefined;
  }
}

/** Whether a file of its kind is hardly ever read otherwise, so that there is nothing to say about it. */
export function isUsual(form: TextForm): boolean {
  switch (form.kind) {
    case 'lines':
      return form.dress === undefined;
    case 'values':
      return form.layout === 'array';
    case 'csv':
      return form.escape === undefined && form.lineBreak === undefined;
    case 'sequence':
      return false;
    case 'texts':
    case 'unknown':
      return true;
  }
}

function tableReading({ delimiter, escape, lineBreak }: CsvDialect): string {
  const more = `${escape === undefined ? '' : ', quotes behind backslashes'}${lineBreak === undefined ? '' : ', lines that end with CR'}`;
  return `a table with a header, columns separated by ${delimiterNames[delimiter] ?? delimiter}${more}`;
}

const delimiterNames: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'bars',
};

function isMostlyObjects(start: string): boolean {
  const rest = start
    .split('\n')
    .slice(1)
    .filter((line) => line.trim() !== '');
  return rest.length > 0 && rest.filter((line) => line.trimStart().startsWith('{')).length * 2 > rest.length;
}

const enrichedColumns = 131;

/**
 * Enriched events of Snowplow: their columns are known, so their files have no line that names them. Damaged lines, the first
 * one too, do not change what the file is.
 */
function isMostlyEnriched(head: string): boolean {
  if (!head.includes('\t') || head.startsWith('app_id\t')) return false;
  // What stands behind the last line break is empty, or may be cut off by the end of the head.
  const end = head.lastIndexOf('\n');
  const lines = (end === -1 ? head : head.slice(0, end)).split('\n').filter((line) => line.trim() !== '');
  // The first column may be empty, so that a line begins with a tab.
  const enriched = lines.filter((line) => line.split('\t').length === enrichedColumns);
  return enriched.length * 2 > lines.length;
}

const feedColumnsMin = 20;
const emptyCellsMin = 4;

/** What no column is called: a moment, or a number of as many digits as one in seconds has. */
const moment = /^(?:\d{9,20}|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d.{0,10})$/;

/**
 * A line of many cells, several of them empty, names no columns, and neither does one with the time of a hit: the files of a data feed
 * begin with a record.
 */
function isFeedLine(line: string): boolean {
  const cells = line.split('\t');
  if (cells.length > 1 && cells.some((cell) => moment.test(cell))) return true;
  return cells.length >= feedColumnsMin && cells.filter((cell) => cell === '').length >= emptyCellsMin;
}

const quotedCell = /"(?:[^"]|"")*"/g;

function csvForm(start: string, name: string): TextForm {
  const isCr = /\r\n?|\n/.exec(start.replaceAll(quotedCell, ''))?.[0] === '\r';
  const [, named] = /^"?sep=([,;\t|])"?\r?(?:\n|\r)/i.exec(start) ?? [];
  const lines = start.split(isCr ? '\r' : '\n');
  const header = lines[named === undefined ? 0 : 1]?.replace(/\r$/, '') ?? '';
  if (isFeedLine(header)) return { kind: 'texts' };
  const delimiter = named ?? delimiterOf(header);
  const more = {
    ...(isCr && { lineBreak: '\r' as const }),
    ...(named !== undefined && { separatorLine: true as const }),
  };
  if (delimiter !== undefined) return { kind: 'csv', ...withEscapes(start, { delimiter, ...more }) };
  const reason = aboveHeader(lines) ?? `${known}, got a file that begins: ${JSON.stringify(header.slice(0, 40))}`;
  if (/\.(csv|tsv)(\.|$)/i.test(name)) {
    if (aboveHeader(lines) === undefined) return { kind: 'csv', delimiter: ',', ...more };
    return { kind: 'unknown', reason, isData: true };
  }
  return { kind: 'unknown', reason, isData: false };
}

/** What stands most often between the cells of a line; undefined: it has one only. */
function delimiterOf(line: string): string | undefined {
  const bare = line.replaceAll(quotedCell, '');
  const counts = [',', ';', '\t', '|'].map((delimiter) => ({ delimiter, count: bare.split(delimiter).length - 1 }));
  const best = counts.toSorted((a, b) => b.count - a.count)[0];
  return best === undefined || best.count === 0 ? undefined : best.delimiter;
}

/** Whether quotes stand behind backslashes, seen by which way leaves fewer broken rows. */
function withEscapes(head: string, dialect: CsvDialect): CsvDialect {
  if (!head.includes('\\"')) return dialect;
  const escaped = { ...dialect, escape: 'backslash' } as const;
  return faultsIn(head, escaped) < faultsIn(head, dialect) ? escaped : dialect;
}

const linesAboveMax = 20;

/** Words of a report above the line that names the columns. */
function aboveHeader(lines: readonly string[]): string | undefined {
  const table = lines.slice(0, linesAboveMax).findIndex((line) => delimiterOf(line) !== undefined);
  // A text with a comma somewhere is no table yet: the next line has to be as wide.
  const [first = '', second = ''] = lines.slice(table, table + 2);
  const delimiter = delimiterOf(first);
  if (table < 1 || delimiter === undefined || second.split(delimiter).length < 2) return undefined;
  return `expected the names of the columns in the first line, got a table that begins in line ${table + 1}: remove the lines above it`;
}
