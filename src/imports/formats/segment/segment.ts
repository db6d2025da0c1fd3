import type { Format, FormatOptions, NameTable, RecordReader, RecordResult, Evidence } from '../format.ts';
import { createMapReader, withMap, type MapReader } from '../read-by-map.ts';
import { readObjects, readExample, readOptions } from '../reader-parts.ts';
import { objectOf, type Json } from '../read-values.ts';
import { createReaderMemory } from '../reader-memory.ts';
import { segmentMap, type SegmentParts } from './map.ts';
import { isWarehouseRow, messageOfRow, warehouseTables } from './warehouse.ts';
import { isObject } from '../../../base/json.ts';
import example from './example.json' with { type: 'json' };

const evidence: Evidence = {
  times: {
    rule: 'The time is `timestamp`, which is corrected already; without it receivedAt - (sentAt - originalTimestamp), also where a batch says it once for all of its messages.',
    sources: [
      'https://github.com/segmentio/segment-docs/blob/develop/src/connections/spec/common.md',
      'https://www.rudderstack.com/docs/event-spec/standard-events/common-fields/',
    ],
  },
  zone: {
    rule: 'ISO 8601 in UTC.',
    sources: [
      'https://github.com/segmentio/segment-docs/pull/6408',
      'https://www.rudderstack.com/docs/event-spec/standard-events/common-fields/',
    ],
  },
  ids: {
    rule: 'The uuid follows from messageId, by which Segment and RudderStack deduplicate.',
    sources: [
      'https://www.twilio.com/docs/segment/guides/duplicate-data',
      'https://www.rudderstack.com/docs/user-guides/administrators-guide/deduplication',
    ],
  },
  links: {
    rule: 'userId is the user, anonymousId the device; alias leads from previousId to userId.',
    sources: ['https://www.rudderstack.com/docs/event-spec/standard-events/common-fields/'],
  },
  counts: {
    rule: 'Segment drops repetitions within about 24 hours only, so an archive may hold a messageId again: the option says whether that is another event.',
    sources: ['https://www.twilio.com/docs/segment/guides/duplicate-data'],
    option: 'duplicates',
  },
};

/**
 * Messages of Segment and RudderStack (`track`, `identify`, `page`, `screen`, `group`, `alias`) as events.
 *
 * - The time of an event is `timestamp`; only where it is missing, it follows from `originalTimestamp`, `sentAt` and `receivedAt`
 *   (message-time.ts).
 * - distinct_id is `userId`, else `anonymousId`; an id that means nobody is passed over.
 * - The uuid follows from `messageId` and its occurrence in the file, so a file sent again changes nothing, and of an
 *   archive in which a messageId comes several times every line is kept.
 */
export const segment: Format = {
  slug: 'segment',
  name: 'Segment and RudderStack',
  description:
    'The messages track, identify, page, screen, group and alias, with what their context says. distinct_id is userId, else ' +
    'anonymousId; the uuid follows from messageId. The time is `timestamp`; messages without one, as a gateway has them, get ' +
    '`originalTimestamp` corrected by `sentAt` and `receivedAt`. Names in the table are those of the finished event.',
  source:
    'The raw archive in a destination’s bucket: one JSON message per line, gzipped. Or tables of the warehouse: tracks, ' +
    'those of single events, pages, screens, identifies, groups, aliases, users. Of RudderStack also its archived jobs and ' +
    'staging files.',
  options: [
    {
      key: 'duplicates',
      description:
        'What to do with a message whose messageId came before: keep it under an id of its own, or leave it out',
      default: 'keep',
      choices: ['keep', 'drop'],
    },
    {
      key: 'table',
      description:
        'Of rows of a warehouse, the table that they come from. `auto` knows tracks, the tables of single events, pages, ' +
        'groups and aliases by their columns',
      default: 'auto',
      choices: warehouseTables,
    },
  ],
  times: { own: ['timestamp', 'originalTimestamp', 'receivedAt', 'sentAt'], received: ['receivedAt', 'received_at'] },
  evidence,
  names: { events: {}, properties: {}, person_properties: {} },
  example: readExample(example),
  createReader,
};

function createReader(given: FormatOptions, names: NameTable, memory = createReaderMemory()): RecordReader {
  const options = readOptions('segment', segment.options, given);
  const partsOf = (dropsRepeated: boolean): SegmentParts => ({
    names,
    dropsRepeated,
    messages: memory.occurrences('run'),
    contents: memory.occurrences('file'),
  });
  const map = segmentMap(partsOf(options['duplicates'] === 'drop'));
  const archive = createMapReader(map);
  // In a warehouse the id of a message stands once in a table: another row of it is of the table of all events beside it.
  const warehouse = createMapReader(segmentMap(partsOf(true)));
  const table = options['table'] ?? 'auto';
  const read = readObjects((record) => {
    const content = unwrapped(record);
    if (content?.kind === 'messages') return readJob(content.messages, archive);
    const row = content?.row ?? (isWarehouseRow(record) ? record : undefined);
    if (row === undefined) return archive.read(record);
    const found = messageOfRow(row, tableOf(content?.table, table));
    return found.kind === 'message' ? warehouse.read(found.message) : found;
  });
  return withMap(read, map);
}

/** Tables of single events are called like the event. */
function tableOf(named: string | undefined, chosen: string): string {
  return named === undefined ? chosen : warehouseTables.includes(named) ? named : 'tracks';
}

/** All messages of a job, or none: nothing may be remembered of one that is refused. */
function readJob(messages: readonly Json[], { begin }: MapReader): RecordResult {
  const begun = messages.map(begin);
  const bad = begun.find(({ kind }) => kind === 'unreadable');
  if (bad?.kind === 'unreadable') return bad;
  const results = begun.map((each) => (each.kind === 'readable' ? each.result() : each));
  const events = results.flatMap((result) => (result.kind === 'events' ? result.events : []));
  const notes = results.flatMap((result) => result.notes ?? []);
  if (events.length === 0) return results[0] ?? { kind: 'events', events };
  return { kind: 'events', events, ...(notes.length > 0 && { notes }) };
}

/** What of a record is a message or a row. */
type Content =
  | { readonly kind: 'messages'; readonly messages: readonly Json[] }
  /** `table`: as the loader calls it; undefined: its columns tell. */
  | { readonly kind: 'row'; readonly row: Json; readonly table: string | undefined };

/**
 * What was sent is wrapped by the libraries and in RudderStack's own files: a batch is `{batch: […], receivedAt, requestIP}`, archived
 * jobs have one message in `EventPayload`, those of the gateway a batch in `event_payload`; transformations get `{message, metadata, destination}`; a line of a staging file is
 * `{data: row, metadata: {table}}`. Undefined: none of these, or a job without messages.
 */
function unwrapped(record: Json): Content | undefined {
  if (record['type'] !== undefined || record['messageId'] !== undefined) return undefined;
  const { data } = record;
  const { table } = objectOf(record['metadata']);
  if (isObject(data) && typeof table === 'string') return { kind: 'row', row: data, table };
  const wrapped = [record['event_payload'], record['EventPayload'], record['message']].find(isObject);
  const payload = wrapped ?? (Array.isArray(record['batch']) ? record : undefined);
  if (payload === undefined) return undefined;
  const { batch } = payload;
  const messages = Array.isArray(batch) ? batch.filter(isObject).map((each) => ofBatch(each, payload)) : [payload];
  return messages.length === 0 ? undefined : { kind: 'messages', messages };
}

/** A batch says once when it was sent and received, and from where. */
function ofBatch(message: Json, { sentAt, receivedAt, requestIP, request_ip: ip = requestIP }: Json): Json {
  const shared = Object.entries({ sentAt, receivedAt, request_ip: ip }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(shared), ...message };
}
