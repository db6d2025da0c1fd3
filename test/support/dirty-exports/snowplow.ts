import type { Draw } from '../draw.ts';
import { deep, drawProbe, eventNames, nobodies, tooLongName, wide } from './dirt.ts';
import { rejected, rejectedEvent, type DirtyRecord, type MakeRecords, type StoredRecord } from './dirty-record.ts';
import { drawTime, drawWho, type Who } from './people.ts';
import { withRepeats } from './repeats.ts';

/** Rows of the table `events` of a warehouse. */
export const snowplowRows: MakeRecords = withRepeats((draw, n) => dirtyRow(draw, drawEvent(draw, n)));

/** Lines of the enriched archive, 131 columns each. */
export const snowplowLines: MakeRecords = withRepeats((draw, n) => dirtyLine(draw, drawEvent(draw, n)));

const zeroId = '00000000-0000-0000-0000-000000000000';
const session = '5d0e6d5c-1a7f-4b4c-8a52-3c9b7c0a1f11';

interface SnowplowEvent {
  /** By the names of the columns. */
  readonly cells: Readonly<Record<string, string>>;
  /** JSON: of the self-describing event. */
  readonly data: string;
  readonly expected: StoredRecord;
}

function drawEvent(draw: Draw, n: number): SnowplowEvent {
  const [name, storedName] = draw.pick(eventNames);
  const [probe, storedProbe] = drawProbe(draw, n);
  const eventId = draw.uuid();
  const { cells, distinctId, link } = drawIds(draw, drawWho(draw), eventId);
  const { times, ms } = drawTimes(draw);
  return {
    cells: {
      app_id: 'shop',
      event: 'unstruct',
      event_id: spelled(draw, eventId),
      // JSON.
      event_name: JSON.parse(name) as string,
      ...times,
      ...cells,
    },
    data: `{"n":${n},"probe":${probe}}`,
    expected: {
      is: 'stored',
      event: {
        event: storedName,
        distinctId,
        ms,
        probe: storedProbe,
        identity: String(n),
        isNobodys: distinctId.startsWith('anonymous-'),
      },
      ...(link !== undefined && { link: { ...link, ms } }),
    },
  };
}

function spelled(draw: Draw, uuid: string): string {
  return draw.pick([uuid, uuid, uuid.toUpperCase(), uuid.replaceAll('-', '')]);
}

interface Ids {
  readonly cells: Readonly<Record<string, string>>;
  readonly distinctId: string;
  readonly link: { readonly device: string; readonly user: string } | undefined;
}

/** Cookies of the site or of the network, zeros where a visitor did not agree to any, or nothing at all. */
function drawIds(draw: Draw, { user, device, stored }: Who, eventId: string): Ids {
  const isPlaceholderId = draw.chance(0.02);
  const userCell = isPlaceholderId ? draw.pick(nobodies) : (user ?? '');
  const known = isPlaceholderId ? undefined : user;
  if (draw.chance(0.05)) {
    const isSession = draw.chance(0.5);
    const cells = {
      user_id: userCell,
      network_userid: draw.pick([zeroId, zeroId.replaceAll('-', ''), '']),
      ...(isSession && { domain_sessionid: session }),
    };
    return { cells, distinctId: stored(known ?? `anonymous-${isSession ? session : eventId}`), link: undefined };
  }
  const network = `1f0e6a52-0000-4000-a000-${device.slice('d-'.length).padStart(12, '0')}`;
  const isOfSite = draw.chance(0.8);
  const cells = {
    user_id: userCell,
    domain_userid: isOfSite ? device : draw.pick(['', zeroId]),
    network_userid: isOfSite ? draw.pick([network, zeroId]) : network,
  };
  const id = isOfSite ? device : network;
  return {
    cells,
    distinctId: stored(known ?? id),
    link: known === undefined ? undefined : { device: id, user: stored(known) },
  };
}

/** true_tstamp, else derived_tstamp, else collector_tstamp; what is no time says nothing. */
function drawTimes(draw: Draw): { readonly times: Readonly<Record<string, string>>; readonly ms: number } {
  const { text, ms } = drawTime(draw);
  const own = text.slice(0, -3);
  const other = '2022-02-02 02:02:02.222';
  const times = draw.pick([
    { true_tstamp: own, derived_tstamp: other, collector_tstamp: other },
    { derived_tstamp: own, collector_tstamp: other },
    { true_tstamp: '2023-13-45 00:00:00', derived_tstamp: own, collector_tstamp: other },
    { derived_tstamp: 'NULL', collector_tstamp: own },
    { collector_tstamp: own },
  ]);
  return { times, ms };
}

function dirtyRow(draw: Draw, { cells, data, expected }: SnowplowEvent): DirtyRecord {
  const row = (more: Readonly<Record<string, unknown>>, own = data): string => {
    const written = draw.chance(0.5) ? JSON.stringify(own) : own;
    return `{${JSON.stringify({ ...cells, ...more }).slice(1, -1)},"unstruct_event_com_acme_order_done_1":${written}}`;
  };
  if (draw.chance(0.95)) return { text: row({}), expected };
  const noTimes = { true_tstamp: null, derived_tstamp: null };
  const text = row({});
  switch (draw.int(8)) {
    case 0:
      return { text: text.slice(0, draw.int(text.length - 2) + 1), expected: rejected };
    case 1:
      return { text: row({ ...noTimes, collector_tstamp: null }), expected: rejected };
    case 2:
      return { text: row({ ...noTimes, collector_tstamp: '2999-01-01 00:00:00.000' }), expected: rejected };
    case 3:
      return { text: row({ event_name: tooLongName }), expected: rejectedEvent({ text, expected }) };
    case 4:
      return { text: row({ event: 'page_ping' }), expected: { is: 'skipped' } };
    case 5:
      return { text: badRow, expected: { is: 'skipped' } };
    case 6:
      return { text: `${text.slice(0, -1)},"deep":${deep(500 + draw.int(5000))}}`, expected: rejected };
    default:
      return { text: row({}, data.replace('"n":', `"wide":${wide(6000)},"n":`)), expected };
  }
}

const badRow = JSON.stringify({
  schema: 'iglu:com.snowplowanalytics.snowplow.badrows/schema_violations/jsonschema/2-0-0',
  data: { failure: {}, payload: {} },
});

/** Places in a line, from 0, and from its end. */
const columns: Readonly<Record<string, number>> = {
  app_id: 0,
  collector_tstamp: 3,
  event: 5,
  event_id: 6,
  user_id: 12,
  domain_userid: 15,
  network_userid: 17,
  unstruct_event: 58,
  domain_sessionid: 123,
  derived_tstamp: 124,
  event_name: 126,
  true_tstamp: 130,
};

function lineOf(cells: Readonly<Record<string, string>>, data: string): string {
  const line = Array.from({ length: 131 }, () => '');
  for (const [column, cell] of Object.entries(cells)) line[columns[column] ?? line.length] = cell;
  const own = `{"schema":"iglu:com.acme/order_done/jsonschema/1-0-2","data":${data}}`;
  const outer = 'iglu:com.snowplowanalytics.snowplow/unstruct_event/jsonschema/1-0-0';
  line[columns['unstruct_event'] ?? 0] = `{"schema":"${outer}","data":${own}}`;
  return line.join('\t');
}

function dirtyLine(draw: Draw, { cells, data, expected }: SnowplowEvent): DirtyRecord {
  const text = lineOf(cells, data);
  if (draw.chance(0.95)) return { text, expected };
  const noTimes = { true_tstamp: '', derived_tstamp: '' };
  switch (draw.int(7)) {
    case 0:
      // Before the last column, which nothing says to be whole.
      return { text: text.slice(0, draw.int(text.lastIndexOf('\t')) + 1), expected: rejected };
    case 1:
      return { text: lineOf({ ...cells, ...noTimes, collector_tstamp: '' }, data), expected: rejected };
    case 2:
      return {
        text: lineOf({ ...cells, ...noTimes, collector_tstamp: '2999-01-01 00:00:00' }, data),
        expected: rejected,
      };
    case 3:
      return { text: lineOf({ ...cells, event_name: tooLongName }, data), expected: rejectedEvent({ text, expected }) };
    case 4:
      return { text: lineOf({ ...cells, event: 'page_ping' }, data), expected: { is: 'skipped' } };
    case 5:
      return { text: lineOf(cells, data.replace('"n":', `"wide":${wide(6000)},"n":`)), expected };
    default:
      return { text: `${text}\t`, expected: rejected };
  }
}
