import { assumedZone, assumedZoneOption, type AssumedZone, timeOfEpoch } from '../read-times.ts';
import type { ReaderMemory } from '../reader-memory.ts';
import { createEventWriter, imported, skippedByName, skipped, unreadable, type EventWriter } from '../event-writer.ts';
import {
  FormatOptionsError,
  type Format,
  type NameTable,
  type RecordReader,
  type RecordResult,
  type Evidence,
} from '../format.ts';
import { personId, asNumber, idOf, setMember, type Json, type Properties } from '../read-values.ts';
import { readExample, readObjects, readOptions } from '../reader-parts.ts';
import { kindOfTimes, textTime } from '../times.ts';
import { splitEscaped, unescaped, readProducts, readEventList, type SuccessEvent } from './multi-values.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is cust_hit_time_gmt, sent with the hit (report suites with timestamps enabled), else hit_time_gmt, the time of receipt at Adobe, else date_time.',
    sources: [
      'https://experienceleague.adobe.com/en/docs/analytics/export/analytics-data-feed/data-feed-contents/datafeeds-reference',
    ],
  },
  zone: {
    rule: 'The first two are seconds since 1970. date_time is in the zone of the report suite, which the feed does not contain: set the option, or the check warns.',
    sources: [
      'https://experienceleague.adobe.com/en/docs/analytics/export/analytics-data-feed/data-feed-contents/datafeeds-reference',
    ],
    option: 'time_zone',
  },
  ids: {
    rule: 'hitid_high and hitid_low together identify a hit. Adobe warns that two hits can in rare cases share them, so visitor and time are part of the uuid.',
    sources: [
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/df-faq.md',
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/data-feeds-best-practices.md',
    ],
  },
  links: {
    rule: 'visid_high and visid_low together identify a visitor, by whichever method Adobe used; the column of `user_id` contains the user to link the visitor to.',
    sources: [
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/c-df-contents/datafeeds-calculate.md',
    ],
    option: 'user_id',
  },
  counts: {
    rule: 'Hits that Analysis Workspace does not count are skipped and counted by reason: exclude_hit and customer_perspective other than 0, hit_source 5, 7, 8 and 9. A hit or file sent twice is stored once.',
    sources: [
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/c-df-contents/datafeeds-calculate.md',
      'https://github.com/AdobeDocs/analytics.en/blob/main/help/export/analytics-data-feed/data-feeds-best-practices.md',
    ],
  },
};

/** Names of hit types and of columns of the feed; columns without `post_`. */
const adobeNames: NameTable = {
  events: { page_view: '$pageview', screen_view: '$screen' },
  properties: {
    accept_language: '$browser_language',
    browser_height: '$viewport_height',
    browser_width: '$viewport_width',
    code_ver: '$lib_version',
    daily_visitor: null,
    geo_city: '$geoip_city_name',
    geo_zip: '$geoip_postal_code',
    hourly_visitor: null,
    ip: '$ip',
    ip2: null,
    mobileappid: '$app_name',
    mobiledevice: '$device_model',
    mobileosversion: '$os_version',
    monthly_visitor: null,
    page_url: '$current_url',
    quarterly_visitor: null,
    ref_domain: '$referring_domain',
    referrer: '$referrer',
    stats_server: null,
    user_agent: '$useragent',
    user_hash: null,
    user_server: null,
    userid: null,
    weekly_visitor: null,
    yearly_visitor: null,
  },
  person_properties: {},
};

const slug = 'adobe-analytics';

export const adobeAnalytics: Format = {
  slug,
  name: 'Adobe Analytics',
  description:
    'Hits of a data feed. Values processed by Adobe (`post_evar1`) replace the values sent and are named `evar1`. A page view is ' +
    '`$pageview`, other hits are custom_link, download_link, exit_link or `hit_<page_event>`, with the link name in ' +
    '`link_name`. The events of the hit are in `success_events`, its products in `products`, values of list variables (`mvvar1`) as lists. distinct_id is ' +
    'visid_high and visid_low with all of their digits, else mcvisid; with the option `user_id` it is the user, and the visitor is ' +
    'linked to it. The uuid is derived from hitid_high and hitid_low, or from the content in feeds without them. Hits that Adobe does ' +
    'not count (exclude_hit, customer_perspective, hit_source 5, 7, 8 and 9) are skipped; a repeated purchase (duplicate_purchase) ' +
    'is not counted again.',
  source:
    'The files of a data feed (`hit_data.tsv`, `01-suite_2024-05-01.tsv.gz`), which have no header: set `columns`. ' +
    'Rows with column names, as in a warehouse, need no option.',
  options: [
    {
      key: 'columns',
      label: 'Columns',
      description:
        'Column names separated by tabs: the contents of column_headers.tsv in the lookup files (columns=@column_headers.tsv)',
    },
    {
      key: 'events',
      label: 'Names of events',
      description:
        'Names of the events in event_list: the contents of event.tsv in the lookup files (events=@event.tsv)',
    },
    {
      key: 'user_id',
      label: 'Column of the user id',
      description: 'Column with the id of the logged-in user, e.g. evar7 or cust_visid',
    },
    {
      key: 'success_events',
      label: 'Success events',
      description: 'Whether the events of event_list are only a property of the hit, or also become separate events',
      default: 'property',
      choices: ['property', 'events'],
    },
    assumedZoneOption,
  ],
  evidence,
  names: adobeNames,
  example: readExample(example),
  createReader,
};

/** State of a reader, created once. */
interface Context {
  readonly writer: EventWriter;
  readonly eventNames: ReadonlyMap<string, string>;
  readonly userColumn: string;
  readonly splitsEvents: boolean;
  readonly zone: AssumedZone;
}

function createReader(given: Readonly<Record<string, string>>, names: NameTable, memory?: ReaderMemory): RecordReader {
  const options = readOptions(slug, adobeAnalytics.options, given);
  const columns = columnsOf(options['columns'] ?? '');
  const context: Context = {
    writer: createEventWriter(slug, names, memory),
    eventNames: lookupOf(options['events'] ?? ''),
    userColumn: (options['user_id'] ?? '').replace(/^post_/, ''),
    splitsEvents: options['success_events'] === 'events',
    zone: assumedZone(options),
  };
  const plan = columns === undefined ? undefined : planColumns(columns);
  const known = new Set(columns);
  const readRow = readObjects((row) => {
    // The first line of a feed was read as a header and is lost; rejecting everything is better than silently losing one record.
    if (columns !== undefined && !Object.keys(row).some((key) => known.has(key))) {
      return unreadable('expected a line of the feed or a row with its columns, got a row with other columns');
    }
    return readHit(rowOf(planColumns(Object.keys(row)), Object.values(row)), context);
  });
  return (record) => (typeof record === 'string' ? readLine(record, plan, context) : readRow(record));
}

function columnsOf(text: string): readonly string[] | undefined {
  const columns = text.trim().split(/[\t\r\n]+/);
  if (text.trim() === '') return undefined;
  if (columns.length > 1) return columns;
  throw new FormatOptionsError(
    'columns: expected names separated by tabs, as in column_headers.tsv, got only one name',
  );
}

/** Parses lines such as `200⇥Custom Event 1`. */
function lookupOf(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/\r?\n/).map((line) => line.split('\t'));
  return new Map(pairs.flatMap(([id, name]) => (id && name ? [[id, name.trim()] as const] : [])));
}

function readLine(line: string, plan: ColumnPlan | undefined, context: Context): RecordResult {
  if (plan === undefined) {
    return unreadable(
      'expected the names of the columns in the format option columns (columns=@column_headers.tsv), got none',
    );
  }
  const cells = cellsOf(line.replace(/[\r\n]+$/, ''));
  if (cells.length !== plan.names.length) {
    return unreadable(`expected ${plan.names.length} columns separated by tabs, got ${cells.length}`);
  }
  return readHit(rowOf(plan, cells), context);
}

function rowOf({ names }: ColumnPlan, cells: readonly unknown[]): Properties {
  const row: Properties = {};
  for (let at = 0; at < names.length; at += 1) {
    const name = names[at];
    if (name !== undefined && !isEmptyCell(cells[at])) setMember(row, name, cells[at]);
  }
  return row;
}

/** Uploaded or summarised data, not actions of a visitor. */
const notHits: ReadonlySet<unknown> = new Set(['5', '7', '8', '9']);

const times = ['hit_time_gmt', 'cust_hit_time_gmt', 'date_time'] as const;

function readHit(row: Json, context: Context): RecordResult {
  const { writer, userColumn } = context;
  const excluded = idOf(row['exclude_hit']) ?? '0';
  if (excluded !== '0') return skipped(`exclude_hit ${excluded.slice(0, 10)}: a hit that Adobe does not count`);
  const hitSource = idOf(row['hit_source']);
  if (notHits.has(hitSource)) return skipped(`hit_source ${hitSource}: uploaded data, not a hit`);
  const seen = idOf(row['customer_perspective']) ?? '0';
  if (seen !== '0') return skipped(`customer_perspective ${seen.slice(0, 10)}: a background hit`);
  const gmt = timeOfEpoch(row['cust_hit_time_gmt'], 's') ?? timeOfEpoch(row['hit_time_gmt'], 's');
  const timestamp = gmt ?? textTime(row['date_time'], context.zone.zone);
  if (timestamp === undefined) {
    return unreadable(
      `expected a time in hit_time_gmt, cust_hit_time_gmt or date_time, got ${kindOfTimes(row, times)}`,
    );
  }
  const user = userColumn === '' ? undefined : personId(row[userColumn]);
  const visitor = visitorOf(row);
  const distinctId = user ?? visitor;
  if (distinctId === undefined)
    return unreadable('expected visid_high and visid_low, mcvisid, or the column of user_id');
  const sourceName = nameOf(row);
  const event = writer.eventName(sourceName);
  if (event === null) return skippedByName(sourceName);
  const success = readEventList(row['event_list'], context.eventNames, idOf(row['duplicate_purchase']) === '1');
  const properties = propertiesOf(row, success, context);
  const uuid = uuidOf(row, writer);
  const links = user !== undefined && visitor !== undefined ? writer.identify(user, visitor, timestamp) : [];
  const hit = writer.event(uuid, event, distinctId, timestamp, properties);
  const clock = gmt === undefined ? row['date_time'] : undefined;
  if (!context.splitsEvents) return context.zone.noted(imported([...links, hit]), clock);
  const own = success.flatMap(({ name, value }, at) => {
    const ownName = writer.eventName(name);
    if (ownName === null) return [];
    const ownProperties: Properties = { ...properties };
    if (value !== undefined) ownProperties['value'] = asNumber(value);
    return [writer.event(writer.id(uuid, name, String(at)), ownName, distinctId, timestamp, ownProperties)];
  });
  return context.zone.noted(imported([...links, hit, ...own]), clock);
}

/** Returns the visitor id: two numbers of up to 20 digits, unique only together. */
function visitorOf(row: Json): string | undefined {
  const high = idOf(row['visid_high']);
  const low = idOf(row['visid_low']);
  const isVisitor = digits.test(high ?? '') && digits.test(low ?? '') && !(high === '0' && low === '0');
  return isVisitor ? `${high}_${low}` : personId(row['mcvisid']);
}

const digits = /^\d{1,20}$/;

function uuidOf(row: Json, writer: EventWriter): string {
  const high = idOf(row['hitid_high']);
  const low = idOf(row['hitid_low']);
  const isHit = high !== undefined && low !== undefined && !(high === '0' && low === '0');
  // Two visitors cannot share a hit: files edited in a spreadsheet have lost its last digits.
  return isHit
    ? writer.id('hit', high, low, visitorOf(row) ?? '', idOf(row['hit_time_gmt']) ?? '')
    : writer.contentId(row);
}

const kinds: ReadonlyMap<string, string> = new Map([
  ['0', 'page_view'],
  ['10', 'custom_link'],
  ['100', 'custom_link'],
  ['11', 'download_link'],
  ['101', 'download_link'],
  ['12', 'exit_link'],
  ['102', 'exit_link'],
]);

function nameOf(row: Json): string {
  const kind = idOf(row['page_event']) ?? '0';
  const name = kinds.get(kind) ?? `hit_${kind.slice(0, 20)}`;
  return name === 'page_view' && row['page_url'] === undefined && row['mobileappid'] !== undefined
    ? 'screen_view'
    : name;
}

/** Columns that identify person, action and time, and that the event contains elsewhere. */
const readApart: ReadonlySet<string> = new Set(
  `cust_hit_time_gmt date_time duplicate_purchase event_list exclude_hit hit_source hit_time_gmt hitid_high hitid_low
  page_event page_event_var1 page_event_var2 product_list s_resolution visid_high visid_low visid_new visid_timestamp
  visid_type`.split(/\s+/),
);
const numbers: ReadonlySet<string> = new Set(['browser_height', 'browser_width', 'visit_num', 'visit_page_num']);

function propertiesOf(row: Json, success: readonly SuccessEvent[], { writer }: Context): Properties {
  const properties: Properties = {};
  for (const column of Object.keys(row)) {
    if (readApart.has(column)) continue;
    writer.put(properties, column, valueOf(column, row[column]));
  }
  const isLink = (idOf(row['page_event']) ?? '0') !== '0';
  writer.put(properties, isLink ? 'link_url' : 'page_event_var1', row['page_event_var1']);
  writer.put(properties, isLink ? 'link_name' : 'page_event_var2', row['page_event_var2']);
  if (success.length > 0) writer.put(properties, 'success_events', success.map(withValue));
  const products = readProducts(row['product_list']);
  if (products.length > 0) writer.put(properties, 'products', products);
  const [, width, height] = /^(\d{1,6})x(\d{1,6})$/.exec(idOf(row['s_resolution']) ?? '') ?? [];
  writer.put(properties, '$screen_width', asNumber(width));
  writer.put(properties, '$screen_height', asNumber(height));
  return properties;
}

function valueOf(column: string, value: unknown): unknown {
  if (numbers.has(column)) return asNumber(value);
  return typeof value === 'string' && listVariable.test(column) ? splitEscaped(value, ',').map(unescaped) : value;
}

const listVariable = /^mvvar\d$/;

function withValue({ name, value }: SuccessEvent): string {
  return value === undefined ? name : `${name}=${value}`;
}

/** The columns of a data feed to read, and their names. */
interface ColumnPlan {
  /** Name by position; `undefined` skips the column. */
  readonly names: readonly (string | undefined)[];
}

const processed = 'post_';

/** Uses the processed value (`post_evar1`) in place of the sent one (`evar1`), even if empty, under the name of the latter. */
function planColumns(columns: readonly string[]): ColumnPlan {
  const all = new Set(columns);
  const names = columns.map((column) => {
    if (column.startsWith(processed)) return column.slice(processed.length);
    return all.has(`${processed}${column}`) ? undefined : column;
  });
  return { names };
}

/** Splits a line into cells. A backslash escapes a tab, a line break or another backslash. */
function cellsOf(line: string): readonly string[] {
  if (!line.includes('\\')) return line.split('\t');
  return [...line.matchAll(/((?:\\[^]|[^\t\\])*)(?:\t|$)/g)]
    .slice(0, unescapedTabs(line) + 1)
    .map(([, cell = '']) => cell.replaceAll(/\\([\t\n\\])/g, '$1'));
}

function unescapedTabs(line: string): number {
  return line.replaceAll(/\\[^]/g, '').split('\t').length - 1;
}

/** Whether a cell represents a missing value. */
function isEmptyCell(cell: unknown): boolean {
  return cell === undefined || cell === null || cell === '' || cell === '::empty::' || cell === '::hash::0';
}
