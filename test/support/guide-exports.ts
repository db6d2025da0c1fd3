import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Format, FormatOptions } from '../../src/imports/formats/format.ts';
import { findFormat } from '../../src/imports/formats/registry.ts';
import type { WireEvent } from '../../src/wire/contract/wire-event.ts';
import { amplitudeRecords } from '../../src/imports/formats/amplitude/records.fixture.ts';
import { adobeColumns, adobeRecords, feedLine } from '../../src/imports/formats/adobe-analytics/records.fixture.ts';
import { ga4Records } from '../../src/imports/formats/ga4/records.fixture.ts';
import { heapRecords } from '../../src/imports/formats/heap/records.fixture.ts';
import { juneRecords } from '../../src/imports/formats/june/records.fixture.ts';
import { matomoRecords } from '../../src/imports/formats/matomo/records.fixture.ts';
import { millraceRecords } from '../../src/imports/formats/millrace/records.fixture.ts';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { mparticleRecords } from '../../src/imports/formats/mparticle/records.fixture.ts';
import { pendoRecords } from '../../src/imports/formats/pendo/records.fixture.ts';
import { plausibleRecords } from '../../src/imports/formats/plausible/records.fixture.ts';
import { posthogRecords } from '../../src/imports/formats/posthog/records.fixture.ts';
import { segmentRecords } from '../../src/imports/formats/segment/records.fixture.ts';
import { snowplowRecords } from '../../src/imports/formats/snowplow/records.fixture.ts';
import { statsigRecords } from '../../src/imports/formats/statsig/records.fixture.ts';
import { eventsOf, readAll } from './format-check.ts';
import { makeZip } from './archives.ts';

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
  amplitude: () => {
    const records = [...amplitudeRecords(seed, count)];
    const packedHour = { path: '7/7_2024-01-01_0#0.json.gz', content: gzipSync(linesOf(records)) };
    return [{ files: { 'exports/2024-01-01.zip': makeZip([packedHour]) }, records }];
  },
  ga4: () => [packed('exports/events_20240501-000000000000.json.gz', [...ga4Records(seed, count)])],
  heap: heapTables,
  matomo: () => {
    // A whole export: of one that lacks actions the command says so, and fails.
    const visits = [...matomoRecords(seed, count)].map((visit) =>
      Object.assign(visit, { truncatedActionsCount: undefined }),
    );
    const page = (at: number): string => JSON.stringify(visits.slice(at, at + 100));
    const files = Object.fromEntries([0, 100, 200, 300].map((at) => [`exports/2024-05-${at}.json`, page(at)]));
    return [{ files, records: visits }];
  },
  mixpanel: () => {
    const records = [...mixpanelRecords(seed, count)];
    return [{ files: { 'exports/2024-01.ndjson': linesOf(records) }, records }];
  },
  millrace: () => [packed('export/events-00001.ndjson.gz', [...millraceRecords(seed, count)])],
  pendo: () => [packed('exports/allevents.ndjson.gz', [...pendoRecords(seed, count)])],
  posthog: () => [packed('exports/events/0.jsonl.gz', [...posthogRecords(seed, count)])],
  segment: () => [packed('segment-logs/1700000000000/0.gz', [...segmentRecords(seed, count)])],
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

/** The formats for whose guides there is a generated export. */
export const formatsWithExport: readonly string[] = Object.keys(exportsOf);

/** Lays an export in the format where its guide looks for it. Returns the events that have to come of it. */
export async function layExport(slug: string, folder: string): Promise<WireEvent[]> {
  const format = findFormat(slug);
  const imports = exportsOf[slug]?.() ?? [];
  if (format === undefined || imports.length === 0) throw new Error(`expected an export of ${slug}, got none`);
  for (const { files } of imports) {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(join(folder, path, '..'), { recursive: true });
      await writeFile(join(folder, path), content);
    }
  }
  return imports.flatMap((each) => storedOf(format, each));
}

/**
 * Of an event that its records hold several times on one day, an import sends the first one, and the last one of what Amplitude says of
 * a group; each says that its address is of long ago.
 */
export function storedOf(format: Format, { records, options }: Omit<GuideImport, 'files'>): WireEvent[] {
  const events = eventsOf(readAll(format, records, options));
  const inTime = events.toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));
  const isOfGroup = ({ event }: WireEvent): boolean => format.slug === 'amplitude' && event === '$groupidentify';
  const inOrder = [...inTime.filter(isOfGroup), ...inTime.filter((event) => !isOfGroup(event)).toReversed()];
  const once = [...new Map(inOrder.map((event) => [keyOf(event), event])).values()];
  return once.map(ofLongAgo);
}

function ofLongAgo(event: WireEvent): WireEvent {
  return { ...event, properties: { ...event.properties, $geoip_disable: true } };
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
  return { files: { [path]: gzipSync(linesOf(records)) }, records };
}

function linesOf(records: readonly Row[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

function csvOf(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {});
  const cell = (value: unknown): string => `"${String(value).replaceAll('"', '""')}"`;
  const lines = rows.map((row) => columns.map((column) => cell(row[column])).join(','));
  return `${[columns.join(','), ...lines].join('\n')}\n`;
}
