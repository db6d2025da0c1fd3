import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Format, FormatOptions } from '../../imports/formats/format.ts';
import { findFormat } from '../../imports/formats/registry.ts';
import type { WireEvent } from '../../contract/wire-event.ts';
import { adobeColumns, adobeRecords, feedLine } from '../../imports/formats/adobe-analytics/records.fixture.ts';
import { heapRecords } from '../../imports/formats/heap/records.fixture.ts';
import { juneRecords } from '../../imports/formats/june/records.fixture.ts';
import { matomoRecords } from '../../imports/formats/matomo/records.fixture.ts';
import { mparticleRecords } from '../../imports/formats/mparticle/records.fixture.ts';
import { pendoRecords } from '../../imports/formats/pendo/records.fixture.ts';
import { plausibleRecords } from '../../imports/formats/plausible/records.fixture.ts';
import { snowplowRecords } from '../../imports/formats/snowplow/records.fixture.ts';
import { statsigRecords } from '../../imports/formats/statsig/records.fixture.ts';
import { eventsOf, readAll } from '../../../test/support/format-check.ts';
import { makeZip } from '../../../test/support/archives.ts';

type Row = Readonly<Record<string, unknown>>;

/** One import of a guide: files below the directory where its command runs, and the records in them. */
interface GuideImport {
  readonly files: Readonly<Record<string, Uint8Array | string>>;
  readonly records: readonly unknown[];
  readonly options?: FormatOptions;
}

const seed = 11;
const count = 240;

/** Generated exports, packed and cut as those of the tool are, where its guide looks for them. */
const exportsOf: Readonly<Record<string, () => readonly GuideImport[]>> = {
  'adobe-analytics': () => {
    const records = [...adobeRecords(seed, count)].map(feedLine);
    const files = {
      'feed/lookup/column_headers.tsv': `${adobeColumns.join('\t')}\n`,
      'feed/lookup/event.tsv': '200\tSigned Up\n201\tRating\n',
      'feed/hits/01-shop_2024-01-01.tsv.gz': gzipSync(`${records.join('\n')}\n`),
    };
    const options = { columns: adobeColumns.join('\t'), events: '200\tSigned Up\n201\tRating\n', user_id: 'evar1' };
    return [{ files, records, options }];
  },
  heap: heapTables,
  matomo: () => {
    const visits = [...matomoRecords(seed, count)];
    const page = (at: number): string => JSON.stringify(visits.slice(at, at + 100));
    const files = Object.fromEntries([0, 100, 200, 300].map((at) => [`exports/2024-05-${at}.json`, page(at)]));
    return [{ files, records: visits }];
  },
  pendo: () => [packed('exports/allevents.ndjson.gz', [...pendoRecords(seed, count)])],
  snowplow: () => {
    const records = [...snowplowRecords(seed, count)];
    return [{ files: { 'enriched/run=2023-01-01/part-0.gz': gzipSync(`${records.join('\n')}\n`) }, records }];
  },
  mparticle: () => [packed('exports/2023/01/batches.json.gz', [...mparticleRecords(seed, count)])],
  june: () => {
    const rows = [...juneRecords(seed, count)];
    return [{ files: { 'exports/events.csv': csvOf(rows) }, records: rows }];
  },
  plausible: () => {
    const rows = [...plausibleRecords(seed, 60)];
    const tables = [rows.filter((row) => 'page' in row), rows.filter((row) => !('page' in row))];
    const content = tables.map((table, index) => ({ path: `imported_${index}.csv`, content: csvOf(table) }));
    const options = { synthesise: 'yes', time_zone: 'Europe/Berlin' };
    return [{ files: { 'plausible-export.zip': makeZip(content) }, records: rows, options }];
  },
  statsig: () => {
    const [first, ...others] = [...statsigRecords(seed, count)];
    const page = { data: [first], pagination: { page: 1 } };
    const records = [page, ...others];
    const lines = others.map((record) => JSON.stringify(record)).join('\n');
    return [{ files: { 'exports/1.json': JSON.stringify(page, null, 2), 'exports/2.ndjson': lines }, records }];
  },
};

/** The tools for whose guides there is a generated export. */
export const toolsWithExport: readonly string[] = Object.keys(exportsOf);

/** Lays the export of a tool where its guide looks for it. Returns the events that have to come of it. */
export async function layExport(tool: string, folder: string): Promise<WireEvent[]> {
  const format = findFormat(tool);
  const imports = exportsOf[tool]?.() ?? [];
  if (format === undefined || imports.length === 0) throw new Error(`expected an export of ${tool}, got none`);
  for (const { files } of imports) {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(folder, path, '..'), { recursive: true });
      await writeFile(join(folder, path), content);
    }
  }
  return imports.flatMap((each) => storedOf(format, each));
}

/** Of an event that its records hold several times on one day, an import sends the first one. */
export function storedOf(format: Format, { records, options }: Omit<GuideImport, 'files'>): WireEvent[] {
  const events = eventsOf(readAll(format, records, options));
  const inTime = events.toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));
  return [...new Map(inTime.toReversed().map((event) => [keyOf(event), event])).values()];
}

const keyOf = ({ uuid, event, distinct_id, timestamp }: WireEvent): string =>
  JSON.stringify([uuid, event, distinct_id, timestamp.slice(0, 10)]);

/** A directory for each table, events as texts in CSV without their names. */
function heapTables(): GuideImport[] {
  const rows = [...heapRecords(seed, 2 * count)];
  const events = ['pageviews', 'order_done', 'signed_up'].map((table): GuideImport => {
    const own = rows.filter((row) => row['event_table_name'] === table);
    const records = own.map((row) => {
      const cells = Object.entries(row).filter(([column]) => column !== 'event_table_name');
      return Object.fromEntries(cells.map(([column, value]) => [column, String(value)]));
    });
    return { files: { [`exports/${table}/0.csv`]: csvOf(records) }, records, options: { event: table } };
  });
  const users = rows.filter((row) => 'joindate' in row);
  const migrations = rows.filter((row) => 'from_user_id' in row);
  return [
    packed('exports/users/0.ndjson.gz', users),
    packed('exports/user_migrations/0.ndjson.gz', migrations),
    ...events,
  ];
}

function packed(path: string, records: readonly Row[]): GuideImport {
  return { files: { [path]: gzipSync(records.map((record) => `${JSON.stringify(record)}\n`).join('')) }, records };
}

function csvOf(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const cell = (value: unknown): string => `"${String(value).replaceAll('"', '""')}"`;
  const lines = rows.map((row) => columns.map((column) => cell(row[column])).join(','));
  return `${[columns.join(','), ...lines].join('\n')}\n`;
}
