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
    rule: 'The time is `timestamp`, which is already corrected; without it receivedAt - (sentAt - originalTimestamp), which a batch may give once for all of its messages.',
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
    rule: 'The uuid is derived from messageId, by which Segment and RudderStack deduplicate.',
    sources: [
      'https://www.twilio.com/docs/segment/guides/duplicate-data',
      'https://www.rudderstack.com/docs/user-guides/administrators-guide/deduplication',
    ],
  },
  links: {
    rule: 'userId is the user, anonymousId the device; alias links previousId to userId.',
    sources: ['https://www.rudderstack.com/docs/event-spec/standard-events/common-fields/'],
  },
  counts: {
    rule: 'Segment deduplicates only within about 24 hours, so an archive may contain a messageId again: the option sets whether that is a separate event.',
    sources: ['https://www.twilio.com/docs/segment/guides/duplicate-data'],
    option: 'duplicates',
  },
};

/**
 * Reads messages of Segment and RudderStack (`track`, `identify`, `page`, `screen`, `group`, `alias`).
 *
 * - The time of an event is `timestamp`, or else derived from `originalTimestamp`, `sentAt` and `receivedAt`.
 * - distinct_id is `userId`, else `anonymousId`; placeholder ids are ignored.
 * - The uuid is derived from `messageId` and its occurrence in the file: a file sent again changes nothing, and every line of an
 *   archive that repeats a messageId is kept.
 */
export const segment: Format = {
  slug: 'segment',
  name: 'Segment and RudderStack',
  description:
    'The messages track, identify, page, screen, group and alias, with their context. distinct_id is userId, else ' +
    'anonymousId; the uuid is derived from messageId. The time is `timestamp`; messages without one, as in a gateway, get ' +
    '`originalTimestamp` corrected by `sentAt` and `receivedAt`. The name table applies to the finished event.',
  source:
    'The raw archive in a destination’s bucket: one JSON message per line, gzipped. Or warehouse tables: tracks, ' +
    'single events, pages, screens, identifies, groups, aliases, users. For RudderStack also archived jobs and ' +
    'staging files.',
  options: [
    {
      key: 'duplicates',
      label: 'Repeated messages',
      description: 'What to do with a message with a repeated messageId: keep it under a separate id, or drop it',
      default: 'keep',
      choices: ['keep', 'drop'],
    },
    {
      key: 'table',
      label: 'Warehouse table',
      description:
        'The table of warehouse rows. `auto` recognises tracks, tables of single events, pages, ' +
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
  // In a warehouse a messageId is unique within a table: a repeated one belongs to the table of all events, which repeats the
  // tables of single events.
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

/** Tables of single events are named like the event. */
function tableOf(named: string | undefined, chosen: string): string {
  return named === undefined ? chosen : warehouseTables.includes(named) ? named : 'tracks';
}

/** Reads all messages of a job, or none: nothing may be remembered of a rejected one. */
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

/** Messages or row contained in a record. */
type Content =
  | { readonly kind: 'messages'; readonly messages: readonly Json[] }
  /** `table`: the loader's name; `undefined` to detect it by the columns. */
  | { readonly kind: 'row'; readonly row: Json; readonly table: string | undefined };

/**
 * Opens the envelopes of libraries and of RudderStack's files: a batch is `{batch: […], receivedAt, requestIP}`, archived jobs
 * have one message in `EventPayload`, gateway jobs a batch in `event_payload`, transformations receive `{message, metadata,
 * destination}`, and a line of a staging file is `{data: row, metadata: {table}}`. Returns `undefined` for other records and for
 * a job without messages.
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

/** Copies the times and the address of a batch to its message. */
function ofBatch(message: Json, { sentAt, receivedAt, requestIP, request_ip: ip = requestIP }: Json): Json {
  const shared = Object.entries({ sentAt, receivedAt, request_ip: ip }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(shared), ...message };
}
