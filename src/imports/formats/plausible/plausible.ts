import { dayMs } from '../../../base/time.ts';
import { createEventWriter, imported, skippedByName, skipped, unreadable, type EventWriter } from '../event-writer.ts';
import { FormatOptionsError, type Format, type RecordReader, type RecordResult, type Evidence } from '../format.ts';
import { readExample, readObjects, readOptions } from '../reader-parts.ts';
import { idOf, kindOf, numberOf, type Json, type Properties } from '../read-values.ts';
import type { WireEvent } from '../../../wire/contract/wire-event.ts';
import { textTime, zoneOption, type Zone } from '../times.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The export has days, not times: views are spread evenly over the day.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
    option: 'synthesise',
  },
  zone: {
    rule: 'Days are in the time zone of the site, which the export does not contain: set the option.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
    option: 'time_zone',
  },
  ids: {
    rule: 'The uuid is derived from day, host, page and number: importing the same export again changes nothing.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
  },
  links: {
    rule: 'The export has no visitors, only their number: synthetic visitors create no persons.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
  },
  counts: {
    rule: 'Totals of large sites are estimates that Plausible extrapolates from a sample; a page is counted over all hosts and shows one of them. Other tables contain parts of the same views and are skipped.',
    sources: ['https://github.com/plausible/analytics/blob/master/lib/plausible/exports.ex'],
  },
};

const slug = 'plausible';

/** Maximum of page views in one row, each of which becomes an event. */
const pageviewsMax = 100_000;

export const plausible: Format = {
  slug,
  name: 'Plausible',
  description:
    'Plausible exports totals per day, not events: they do not contain which visitor viewed which page at what time, ' +
    'so they are rejected unless the option `synthesise` is `yes`. Then every row of `imported_pages` becomes as ' +
    'many `$pageview` events as it counts, spread evenly over the day and over the counted number of ' +
    'synthetic visitors; the visitors of a day are the same on all pages. Such events have `$synthetic: true` and create no ' +
    'persons. Page views per day and page are then correct; unique visitors over several pages or days, sessions, ' +
    'paths and funnels are not. Rows of other tables are skipped: their totals are parts of the same views. ' +
    'A row may count at most 100,000 views.',
  source: 'The CSV files of a site export (Settings, Imports & Exports); only `imported_pages` is used.',
  options: [
    {
      key: 'synthesise',
      label: 'Generate page views',
      description:
        'Whether to create synthetic page views that add up to the totals. Without `yes` nothing is imported.',
      default: 'no',
      choices: ['no', 'yes'],
    },
    { key: 'time_zone', label: 'Time zone', description: 'Time zone of the site.', default: 'UTC' },
  ],
  evidence,
  names: { events: { pageview: '$pageview' }, properties: { url: '$current_url' }, person_properties: {} },
  example: readExample(example),
  createReader: (given, names, memory) => {
    const options = readOptions(slug, plausible.options, given);
    if (options['synthesise'] !== 'yes') {
      throw new FormatOptionsError(
        'expected the option synthesise=yes, because Plausible exports totals per day, not events: it creates page views ' +
          'that add up to the totals (marked $synthetic)',
      );
    }
    return createReader(createEventWriter(slug, names, memory), zoneOption('time_zone', options['time_zone'] || 'UTC'));
  },
};

function createReader(writer: EventWriter, zone: Zone): RecordReader {
  return readObjects((row) => {
    const { hostname, page } = row;
    if (idOf(row['date']) === undefined) return unreadable(`expected date, got ${kindOf(row['date'])}`);
    if (typeof page !== 'string' || typeof hostname !== 'string') {
      return skipped('a total of a table other than imported_pages');
    }
    const day = dayOf(row['date'], zone);
    if (day === undefined) return unreadable(`expected date as yyyy-MM-dd, got ${kindOf(row['date'])}`);
    const pageviews = countOf(row['pageviews']);
    if (pageviews === undefined) return unreadable(`expected pageviews as a number, got ${kindOf(row['pageviews'])}`);
    const visitors = countOf(row['visitors']);
    if (visitors === undefined) return unreadable(`expected visitors as a number, got ${kindOf(row['visitors'])}`);
    if (pageviews > pageviewsMax) return unreadable(`expected at most ${pageviewsMax} pageviews in a row`);
    if (pageviews === 0) return skipped('a page without views');
    return synthesise(writer, { row, hostname, page, day, pageviews, visitors: Math.max(visitors, 1) });
  });
}

interface Total {
  readonly row: Json;
  readonly hostname: string;
  readonly page: string;
  readonly day: Day;
  readonly pageviews: number;
  readonly visitors: number;
}

function synthesise(writer: EventWriter, { row, hostname, page, day, pageviews, visitors }: Total): RecordResult {
  const event = writer.eventName('pageview');
  if (event === null) return skippedByName('pageview');
  const shared: Properties = {};
  if (hostname !== '') writer.put(shared, 'url', `https://${hostname}${page}`);
  else writer.put(shared, '$pathname', page);
  for (const column of Object.keys(row)) if (!totals.has(column)) writer.put(shared, column, row[column]);
  const events: WireEvent[] = [];
  const stepMs = (day.endMs - day.startMs) / pageviews;
  for (let index = 0; index < pageviews; index += 1) {
    const uuid = writer.id('pageview', day.name, hostname, page, String(index));
    const visitor = `plausible-${day.name}-${index % visitors}`;
    const timestamp = new Date(day.startMs + (index + 0.5) * stepMs).toISOString();
    const properties = { ...shared, $synthetic: true, $process_person_profile: false };
    events.push(writer.event(uuid, event, visitor, timestamp, properties));
  }
  return imported(events);
}

const totals = new Set(
  ['bounces', 'date', 'exits', 'hostname', 'page', 'pageviews', 'time_on_page', 'total_scroll_depth'].concat([
    'total_scroll_depth_visits',
    'total_time_on_page',
    'total_time_on_page_visits',
    'visitors',
    'visits',
  ]),
);

interface Day {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

/** A day from midnight to midnight in the zone of the site, which may have 23 or 25 hours. */
function dayOf(value: unknown, zone: Zone): Day | undefined {
  const time = typeof value === 'string' && datePattern.test(value) ? textTime(value) : undefined;
  if (time === undefined) return undefined;
  const localMs = Date.parse(time);
  return { name: time.slice(0, 10), startMs: zone(localMs), endMs: zone(localMs + dayMs) };
}
const datePattern = /^\d{4}-\d\d-\d\d$/;

function countOf(value: unknown): number | undefined {
  const count = numberOf(value);
  return count !== undefined && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}
