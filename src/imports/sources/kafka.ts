import {
  SourceChangedError,
  SourceError,
  SourceWaitError,
  lineWithoutRecord,
  type RecordChunk,
  type Source,
  type SourceContext,
  type SourceHost,
  type SourcePart,
  type TimeRange,
  type SourceFault,
} from '../source.ts';
import { saslMechanisms, tlsChoices } from '../../log/kafka-connection/access.ts';
import type { SettingValues } from '../../plugins/fields.ts';
import { defineImportSource, wrongSetting } from '../../plugins/plugin.ts';
import { listSetting, textSetting } from '../../plugins/setting-values.ts';
import { openKafka, type KafkaClient } from './kafka-client.ts';
import { kafkaPlaceOf, type KafkaPlace } from './kafka-place.ts';
import { committedRecords, offsetAfter, readBatches, type KafkaRecord } from './kafka-records.ts';
import { cutIntoParts, describeRanges, rangeOfPart, rangesOf, type PartitionRange } from './kafka-ranges.ts';
import { isUtf8 } from 'node:buffer';

/** Form of a record: the value of a message, or the message with its key, time, headers and value. */
const recordKinds = ['value', 'message'] as const;
type RecordKind = (typeof recordKinds)[number];

const newline = Buffer.from('\n');
const byteOrderMark = Buffer.from('\ufeff');
/** Serialisers of a schema registry write a zero and the four bytes of the schema id before the value. */
const registryMark = 0;
const registryBytes = 5;

/** Collects messages of one partition as lines. */
interface LineCollector {
  add(record: KafkaRecord): void;
  take(): Pick<RecordChunk, 'lines' | 'count' | 'faults'>;
}

function createLineCollector(partition: number, kind: RecordKind): LineCollector {
  let lines: Buffer[] = [];
  let faults: SourceFault[] = [];
  let count = 0;
  return {
    add(record) {
      if (record.value === null) lines.push(lineWithoutRecord);
      else {
        const json = jsonOf(record.value);
        if (json === undefined) {
          faults.push(faultOf(record.value, `partition ${partition}, offset ${record.offset}`));
          return;
        }
        lines.push(kind === 'value' ? json : messageOf(record, partition, json), newline);
      }
      count += 1;
    },
    take() {
      const taken = { lines: Buffer.concat(lines), count, ...(faults.length > 0 && { faults }) };
      lines = [];
      faults = [];
      count = 0;
      return taken;
    },
  };
}

/** Returns the value on one line with every digit, or `undefined` if it is not JSON. */
function jsonOf(value: Buffer): Buffer | undefined {
  const bare = value.subarray(0, 3).equals(byteOrderMark) ? value.subarray(3) : value;
  if (bare[0] === registryMark && bare.length > registryBytes) return jsonOf(bare.subarray(registryBytes));
  if (!isUtf8(bare)) return undefined;
  const text = bare.toString('utf8');
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  // In JSON, line breaks can only occur between values.
  return bare.includes(newline) ? Buffer.from(text.replaceAll(/[\r\n]+/g, ' ')) : bare;
}

function faultOf(value: Buffer, place: string): SourceFault {
  const isText = isUtf8(value);
  const got = isText ? 'something else' : 'bytes that are not text (original: base64)';
  const registry = value[0] === registryMark ? '; Avro and Protobuf of a schema registry are not supported' : '';
  return {
    place,
    reason: `expected one JSON value in the message, got: ${got}${registry}`,
    original: value.toString(isText ? 'utf8' : 'base64'),
  };
}

function messageOf({ offset, timestamp, key, headers }: KafkaRecord, partition: number, json: Buffer): Buffer {
  const about = {
    partition,
    offset,
    timestamp: new Date(timestamp).toISOString(),
    key: textOf(key),
    headers: Object.fromEntries(headers.map(([name, value]) => [textOf(name) ?? '', textOf(value)])),
  };
  return Buffer.concat([Buffer.from(`${JSON.stringify(about).slice(0, -1)},"value":`), json, Buffer.from('}')]);
}

/** Bytes that are not text become base64. */
function textOf(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString(isUtf8(bytes) ? 'utf8' : 'base64');
}

/** Maximum of fetches without a record before the end; each waits half a second. */
const emptyFetchesMax = 20;
const offsetOutOfRange = 1;

/** Messages of a topic with JSON values. */
export const kafka = defineImportSource({
  slug: 'kafka',
  name: 'Kafka',
  description:
    'Imports the messages of a Kafka topic whose values are JSON, up to the end of the topic when the import begins. It joins no ' +
    'consumer group and commits nothing. Needs Kafka 2.3 or newer, or a compatible service.',
  fields: [
    {
      key: 'brokers',
      name: 'Brokers',
      type: 'string',
      required: true,
      hint: 'One or more of the cluster, separated by commas: kafka-1.internal:9092, kafka-2.internal:9092.',
    },
    { key: 'topic', name: 'Topic', type: 'string', required: true, hint: 'Its name; one topic is one import.' },
    {
      key: 'from_offsets',
      name: 'First offsets',
      type: 'string',
      hint: 'partition:offset separated by commas, such as 0:1200, 1:1187, to begin there. Other partitions begin at their first record.',
    },
    {
      key: 'record',
      name: 'A record is',
      type: 'choice',
      choices: recordKinds,
      default: 'value',
      hint: '`value`: the JSON of the message. `message`: an object with partition, offset, timestamp, key, headers and value.',
    },
    {
      key: 'tls',
      name: 'TLS',
      type: 'choice',
      choices: tlsChoices,
      default: 'auto',
      hint: '`auto`: as `verify` with a user, else `off`. `no verify` encrypts without checking the certificate.',
    },
    {
      key: 'ca',
      name: 'Authority',
      type: 'text',
      hint: 'PEM of a private authority that signed the brokers’ certificates.',
    },
    { key: 'user', name: 'User', type: 'string', hint: 'For SASL. Empty: no login.' },
    {
      key: 'password',
      name: 'Password',
      type: 'string',
      secret: true,
      sent_to: ['brokers', 'tls', 'ca'],
      hint: 'Password of the user.',
    },
    {
      key: 'mechanism',
      name: 'Mechanism',
      type: 'choice',
      choices: saslMechanisms,
      default: 'PLAIN',
      hint: 'SASL mechanism of the login.',
    },
    { key: 'client_certificate', name: 'Client certificate', type: 'text', hint: 'PEM, if brokers require one.' },
    {
      key: 'client_key',
      name: 'Client key',
      type: 'text',
      secret: true,
      sent_to: ['brokers', 'tls', 'ca'],
      hint: 'PEM of the key of the certificate.',
    },
  ],
  formats: [],
  range: 'Timestamp of the message in Kafka.',
  example: { brokers: 'kafka.example.com:9093', topic: 'events', user: 'reader', password: 'secret' },
  createSource,
});

interface KafkaDeps {
  readonly place: KafkaPlace;
  readonly host: SourceHost;
  readonly record: RecordKind;
  readonly fromOffsets: ReadonlyMap<number, number>;
}

function createSource(settings: SettingValues, host: SourceHost): Source {
  const record = recordKinds.find((kind) => kind === textSetting(settings, 'record', 'value'));
  if (record === undefined) throw wrongSetting('record', `expected ${recordKinds.join(' or ')}`);
  const deps = { place: kafkaPlaceOf(settings), host, record, fromOffsets: fromOffsetsOf(settings) };
  // Kept as long as the caller holds the snapshot.
  let held: readonly PartitionRange[] | undefined;
  return {
    concurrency: 2,
    listParts: async (range, context) => {
      await using client = await openKafka(deps.place, host.resolve, context.signal);
      const ranges = rangesOf(context.known ?? []) ?? held ?? (await rangesNow(client, deps, range));
      if (context.holdsSnapshot === true) held = ranges;
      return cutIntoParts({ topic: client.topic.id, ranges }).map((part) => withTimes(part, range));
    },
    open: (part, context) => readPart(deps, part, context),
    describe: (parts) => describeRanges(rangesOf(parts) ?? []),
    release: async () => void (held = undefined),
  };
}

function withTimes(part: SourcePart, { from, to }: TimeRange): SourcePart {
  const detail = {
    ...part.detail,
    ...(from !== undefined && { after: from }),
    ...(to !== undefined && { before: to }),
  };
  return { ...part, detail };
}

async function rangesNow(client: KafkaClient, { fromOffsets, place }: KafkaDeps, range: TimeRange) {
  const first = await client.offsets('earliest');
  const end = await client.offsets('end');
  const since = range.from === undefined ? undefined : await client.offsets(Date.parse(range.from));
  return client.topic.partitions.map((partition): PartitionRange => {
    const start = first.get(partition) ?? 0;
    const to = end.get(partition) ?? start;
    const wanted = fromOffsets.get(partition) ?? start;
    if (wanted < start) {
      throw new SourceError(
        `partition ${partition} of "${place.topic}" begins at ${start}; earlier records were deleted: change "from_offsets"`,
      );
    }
    const recent = since?.get(partition) ?? start;
    // -1: no record is recent enough.
    return { partition, from: Math.min(to, Math.max(wanted, recent === -1 ? to : recent)), to };
  });
}

async function* readPart(deps: KafkaDeps, part: SourcePart, context: SourceContext): AsyncGenerator<RecordChunk> {
  const { partition, from, to } = rangeOfPart(part.key, part.detail);
  await using client = await openKafka(deps.place, deps.host.resolve, context.signal);
  if (part.identity !== undefined && part.identity !== `${client.topic.id} ${part.key}`) {
    throw new SourceChangedError(`"${deps.place.topic}" is not the topic that was listed, though it has the same name`);
  }
  const isWanted = timeTest(part);
  const collector = createLineCollector(partition, deps.record);
  let bytesRead = 0;
  let empty = 0;
  for (let offset = from; offset < to;) {
    const { bytes, records, next } = await fetchSome(client, deps, { partition, from: offset, to });
    empty = next === undefined ? empty + 1 : 0;
    if (empty > emptyFetchesMax) {
      const message = `partition ${partition} of "${deps.place.topic}" returned no records at offset ${offset}, though it extends to ${to - 1}`;
      throw new SourceWaitError(message, { unlimited: false });
    }
    for (const record of records) {
      if (record.offset >= offset && record.offset < to && isWanted(record)) collector.add(record);
    }
    bytesRead += bytes;
    const chunk = collector.take();
    if (chunk.count > 0 || chunk.faults !== undefined) yield { ...chunk, bytesRead };
    offset = Math.max(offset, next ?? offset);
  }
}

/** Filters by the time of each message, since a partition is not sorted by it. */
function timeTest({ detail }: SourcePart): (record: KafkaRecord) => boolean {
  const timeOf = (key: string, standard: number): number => {
    const text = detail?.[key];
    return typeof text === 'string' ? Date.parse(text) : standard;
  };
  const after = timeOf('after', -Infinity);
  const before = timeOf('before', Infinity);
  return ({ timestamp }) => timestamp >= after && timestamp < before;
}

interface Fetched {
  readonly bytes: number;
  readonly records: Iterable<KafkaRecord>;
  /** `undefined` if there were no records. */
  readonly next: number | undefined;
}

async function fetchSome(client: KafkaClient, { place }: KafkaDeps, range: PartitionRange): Promise<Fetched> {
  const { partition, from, to } = range;
  const answer = await client.fetch(partition, from);
  const shown = `partition ${partition} of "${place.topic}"`;
  if (answer.errorCode === offsetOutOfRange) throw await lostRecords(client, shown, range);
  if (answer.errorCode !== 0) {
    throw new SourceWaitError(`Kafka cannot serve ${shown} at the moment (its error ${answer.errorCode})`, {
      unlimited: true,
    });
  }
  if (answer.highWatermark < to) throw await lostRecords(client, shown, range);
  const batches = await readBatches(answer.records, shown);
  const next = offsetAfter(batches);
  if (next !== undefined && next <= from) {
    throw new SourceError(
      `expected batches of ${shown} that extend beyond offset ${from}, got batches that end at ${next - 1}; check that the broker is ` +
        'a Kafka broker',
    );
  }
  return { bytes: answer.records.length, records: committedRecords(batches, answer.aborted), next };
}

/** Offsets present when the import began are gone, or a new leader does not know its end yet. */
async function lostRecords(client: KafkaClient, shown: string, { partition, from, to }: PartitionRange) {
  const expected = `expected the offsets ${from} to ${to - 1} in ${shown}`;
  const first = (await client.offsets('earliest')).get(partition) ?? 0;
  if (first > from) {
    return new SourceError(
      `${expected}, but its retention has deleted everything before ${first}; start the import again for the rest, after ` +
        'raising retention.ms or retention.bytes of the topic',
    );
  }
  const end = (await client.offsets('end')).get(partition) ?? 0;
  const advice = 'if this persists, the cluster has lost messages: start the import again for the rest';
  return new SourceWaitError(`${expected}, but it ends at ${end} now; ${advice}`, { unlimited: false });
}

function fromOffsetsOf(settings: SettingValues): ReadonlyMap<number, number> {
  const pairs = listSetting(settings, 'from_offsets').map((text): [number, number] => {
    const [, partition, offset] = /^(\d+):(\d+)$/.exec(text) ?? [];
    if (partition !== undefined && Number.isSafeInteger(Number(offset))) return [Number(partition), Number(offset)];
    throw wrongSetting('from_offsets', `expected partition:offset separated by commas, got: ${text.slice(0, 60)}`);
  });
  return new Map(pairs);
}
