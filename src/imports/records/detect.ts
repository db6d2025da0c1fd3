import { isTar } from './archive-members.ts';
import { faultsIn, type CsvDialect } from './read-csv.ts';
import { layoutOfObject, type ValueLayout } from './read-values.ts';
import { isObject } from '../../base/json.ts';

/** The kind of a file by its first bytes; its name is not reliable. */
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
  /** `dress`: records are separated by commas, or each is the text of a JSON string. */
  | { readonly kind: 'lines'; readonly dress?: 'commas' | 'strings' }
  /** `list`: the member of a batch that contains the records. */
  | { readonly kind: 'values'; readonly layout: ValueLayout; readonly list?: string }
  /** A JSON text sequence (RFC 7464). */
  | { readonly kind: 'sequence' }
  | ({ readonly kind: 'csv' } & CsvDialect)
  /** Each line is a record of plain text. */
  | { readonly kind: 'texts' }
  /** `reason`: one sentence with what came and what to do. `isData`: it may contain records in an unsupported form. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly isData: boolean };

/** `undefined` matches any byte. */
const containers: readonly (readonly [start: readonly (number | undefined)[], container: Container])[] = [
  [[0x1f, 0x8b], 'gzip'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'zstd'],
  // "BZh", a digit, and the mark of a block or (in an empty file) of the end: text may begin with BZh too.
  [[0x42, 0x5a, 0x68, undefined, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59], 'bzip2'],
  [[0x42, 0x5a, 0x68, undefined, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90], 'bzip2'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], 'xz'],
  // Byte order marks; decoded it is text in UTF-8.
  [[0xff, 0xfe], 'utf16'],
  [[0xfe, 0xff], 'utf16'],
  [[0x50, 0x4b, 0x03, 0x04], 'zip'],
  // An empty archive.
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
  // The magic numbers of skippable zstd frames.
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
  // Blank so far, or a damaged first line, which does not change the kind of the file.
  if (start === '' || isMostlyObjects(start)) return { kind: 'lines' };
  return isMostlyEnriched(text) ? { kind: 'texts' } : csvForm(start, name);
}

/** Documents of any size; web pages are documents, other XML may be data. */
const documents = /^(%PDF-|\x89PNG|\xff\xd8\xff|GIF8|<!doctype html|<html)/i;

/** Whether a file is a document for people rather than records. */
export function isDocument(head: Buffer): boolean {
  return documents.test(head.toString('latin1', 0, 300).trimStart());
}

function refusalOf(head: Buffer): { readonly reason: string; readonly isData: boolean } | undefined {
  const latin = head.toString('latin1', 0, 300).trimStart();
  if (/^(<!doctype html|<html)/i.test(latin)) {
    const page = 'an HTML page, probably a sign-in or error page: export the data again';
    return { reason: `${known}, got ${page}`, isData: true };
  }
  const found = others.find(([start]) => latin.startsWith(start));
  if (found !== undefined) {
    return { reason: `${known}, got ${found[1]}: ${found[2] ?? 'convert it first'}`, isData: true };
  }
  if (head.toString('latin1', 8, 12) === 'DUCK') {
    const advice = 'import it with the source duckdb and a query';
    return { reason: `${known}, got a DuckDB database: ${advice}`, isData: true };
  }
  // Text may contain a zero byte somewhere, but rarely in its first line.
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

/** Describes for people how a text is read; `undefined` if it is not. */
export function readingOf(form: TextForm): string | undefined {
  switch (form.kind) {
    case 'lines':
      return {
        none: 'JSON, one record a line',
        commas: 'JSON, one record a line between commas',
        strings: 'JSON strings with a record each, one a line',
      }[form.dress ?? 'none'];
    case 'values':
      if (form.layout === 'batch') return `JSON, records in the list "${form.list ?? 'batch'}"`;
      return form.layout === 'array'
        ? 'JSON arrays of records'
        : 'JSON, one record after the other, regardless of lines';
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

/** Whether this is the usual form of such files, so that nothing needs reporting. */
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
  const more = `${escape === undefined ? '' : ', quotes escaped by backslashes'}${lineBreak === undefined ? '' : ', lines ending with CR'}`;
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
 * Detects enriched events of Snowplow: their columns are fixed, so their files have no header. Damaged lines, even the first one,
 * do not change the kind of the file.
 */
function isMostlyEnriched(head: string): boolean {
  if (!head.includes('\t') || head.startsWith('app_id\t')) return false;
  // The part after the last line break is empty or may be cut off by the end of the head.
  const end = head.lastIndexOf('\n');
  const lines = (end === -1 ? head : head.slice(0, end)).split('\n').filter((line) => line.trim() !== '');
  // The first column may be empty, so a line may begin with a tab.
  const enriched = lines.filter((line) => line.split('\t').length === enrichedColumns);
  return enriched.length * 2 > lines.length;
}

const feedColumnsMin = 20;
const emptyCellsMin = 4;

/** Never a column name: a timestamp, or a number with as many digits as one in seconds. */
const moment = /^(?:\d{9,20}|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d.{0,10})$/;

/**
 * Whether a line is a record of a data feed rather than a header: it has many cells, several of them empty, or the time of a hit.
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

/** Returns the most frequent delimiter of a line; `undefined` for a single cell. */
function delimiterOf(line: string): string | undefined {
  const bare = line.replaceAll(quotedCell, '');
  const counts = [',', ';', '\t', '|'].map((delimiter) => ({ delimiter, count: bare.split(delimiter).length - 1 }));
  const best = counts.toSorted((a, b) => b.count - a.count)[0];
  return best === undefined || best.count === 0 ? undefined : best.delimiter;
}

/** Detects quotes escaped by backslashes: whichever reading gives fewer broken rows. */
function withEscapes(head: string, dialect: CsvDialect): CsvDialect {
  if (!head.includes('\\"')) return dialect;
  const escaped = { ...dialect, escape: 'backslash' } as const;
  return faultsIn(head, escaped) < faultsIn(head, dialect) ? escaped : dialect;
}

const linesAboveMax = 20;

/** Returns the reason if report text precedes the header. */
function aboveHeader(lines: readonly string[]): string | undefined {
  const table = lines.slice(0, linesAboveMax).findIndex((line) => delimiterOf(line) !== undefined);
  // A text with a comma is not a table yet: the next line must have as many cells.
  const [first = '', second = ''] = lines.slice(table, table + 2);
  const delimiter = delimiterOf(first);
  if (table < 1 || delimiter === undefined || second.split(delimiter).length < 2) return undefined;
  return `expected the column names in the first line, got a table that begins in line ${table + 1}: remove the lines above it`;
}

/** Members in which services return pages of records. */
const listNames = ['results', 'data', 'records', 'items', 'rows', 'events'];
/** Other members of such pages, none of which belong to records. */
const pageNames: ReadonlySet<string> = new Set(
  [
    'next previous prev count total total_count totalCount page pages page_size pageSize per_page perPage limit offset',
    'has_more hasMore more next_page nextPage next_page_token nextPageToken next_cursor nextCursor cursor status ok success',
    'error errors message meta metadata links _links paging pagination took timed_out object url request_id',
  ].flatMap((names) => names.split(' ')),
);

/**
 * Returns the member of the first object that contains records, if the object is a page: `{"results": […], "next": null}`. An
 * object with other members is a record with a list. @param start begins with `{`
 */
function wrappedList(start: string): string | undefined {
  const head = Buffer.from(start);
  return listNames.find((name) => layoutOfObject(head, name) === 'batch' && isPage(start, name));
}

function isPage(start: string, list: string): boolean {
  const whole = firstObject(start);
  if (whole !== undefined) return Object.keys(whole).every((key) => key === list || pageNames.has(key));
  // The end is not in the head: the members before the list decide. A record may begin with its events, a page rarely does.
  const before = start.slice(0, start.search(new RegExp(`"${list}"\\s*:\\s*\\[`)));
  const names = [...before.matchAll(/"([^"\\]*)"\s*:/g)].map(([, name]) => name ?? '');
  return (list !== 'events' || names.length > 0) && names.every((name) => pageNames.has(name));
}

function firstObject(start: string): Record<string, unknown> | undefined {
  const end = endOfObject(start);
  return end === -1 ? undefined : parsed(start.slice(0, end));
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns where the object at the start of the text ends, or -1. */
function endOfObject(text: string): number {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[^])*"|[{}]/g)) {
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
    if (token === '}' && depth === 0) return index + 1;
  }
  return -1;
}

/** Whether the first object is on one line, followed by a comma at its end or before the next one. */
function linesWithCommas(start: string): boolean {
  const end = endOfObject(start);
  return (
    end !== -1 &&
    !start.slice(0, end).includes('\n') &&
    /^[ \t]*(,[ \t]*\r?(\n|$)|\r?\n[ \t]*,[ \t]*\{)/.test(start.slice(end))
  );
}

/** Whether most lines contain several objects without separators: concatenated JSON, as from Kinesis Firehose. */
function severalOnALine(start: string): boolean {
  // The part after the last line break may be cut off; without a line break, the head is a single line.
  const lines = start.split('\n');
  const whole = (lines.length > 1 ? lines.slice(0, -1) : lines).filter((line) => line.trim() !== '');
  const several = whole.filter((line) => {
    const end = endOfObject(line);
    return end !== -1 && /^\s*,?\s*\{/.test(line.slice(end));
  });
  return several.length * 2 > whole.length;
}

/** Whether the first line is a JSON string that contains an object. */
function isOneString(start: string): boolean {
  if (!start.startsWith('"')) return false;
  return textOfString(start.slice(0, start.search(/\n|$/))) !== undefined;
}

/** Returns the text of a JSON string that contains an object, or `undefined`. */
export function textOfString(line: string): string | undefined {
  try {
    const text: unknown = JSON.parse(line);
    return typeof text === 'string' && parsed(text) !== undefined ? text : undefined;
  } catch {
    return undefined;
  }
}
