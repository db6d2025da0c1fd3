import type { listOffsetsV7 as offsetsApi, metadataV12 as metadataApi, Writer } from '@platformatic/kafka';
import { SourceError, SourceWaitError, type ResolveHost } from '../source.ts';
import type { KafkaBroker } from '../../log/kafka-connection/access.ts';
import {
  createKafkaConnections,
  kafkaLibrary,
  type KafkaConnection,
  type KafkaConnections,
} from '../../log/kafka-connection/connections.ts';
import {
  flexibleSince,
  parseFetch,
  type FetchAnswer,
  type FetchAnswers,
} from '../../log/kafka-connection/fetch-answer.ts';
import { kafkaError } from './kafka-errors.ts';
import type { KafkaPlace } from './kafka-place.ts';

/** The current state of the topic. */
export interface KafkaTopic {
  /** Identifies cluster and topic, so that a topic of the same name elsewhere or created again differs. */
  readonly id: string;
  readonly partitions: readonly number[];
}

/** Position of an offset: an end, or the first record not older than so many ms since the epoch. */
type OffsetAt = 'earliest' | 'end' | number;

/** Reads one topic. All methods throw SourceError, SourceWaitError, or the signal's reason. */
export interface KafkaClient extends AsyncDisposable {
  readonly topic: KafkaTopic;
  /** Returns offsets by partition. The end excludes open transactions. -1 means that no record is recent enough. */
  offsets(at: OffsetAt): Promise<ReadonlyMap<number, number>>;
  fetch(partition: number, offset: number): Promise<FetchAnswer>;
}

const keys = { fetch: 1, listOffsets: 2, metadata: 3 } as const;
const readCommitted = 1;
const clientId = 'millrace-import';
const fetchWaitMs = 500;
const fetchBytes = 8 * 1024 * 1024;
const empty: Buffer = Buffer.alloc(0);
const timeOf = { earliest: -2n, end: -1n } as const;

/** @param resolve returns the checked address of a host: brokers may name any host, and none is contacted unchecked */
export async function openKafka(place: KafkaPlace, resolve: ResolveHost, signal: AbortSignal): Promise<KafkaClient> {
  const connections = createKafkaConnections({ clientId, access: place, resolve, signal });
  try {
    return await createKafkaClient({ place, connections, signal });
  } catch (error) {
    await connections.close();
    throw error;
  }
}

type ClusterMetadata = Pick<metadataApi.MetadataResponse, 'brokers' | 'clusterId' | 'topics'>;

interface ClientDeps {
  readonly place: KafkaPlace;
  readonly connections: KafkaConnections;
  readonly signal: AbortSignal;
}

/** Disposing the client closes the connections. Throws like its methods. */
export async function createKafkaClient(deps: ClientDeps): Promise<KafkaClient> {
  const { place, connections } = deps;
  const { broker, metadata } = await firstAnswer(deps);
  const [topic] = metadata.topics;
  if (topic === undefined) throw new SourceError(`Kafka has no topic "${place.topic}": check its name`);
  const brokers = new Map(metadata.brokers.map(({ nodeId, host, port }) => [nodeId, { host, port }]));
  const leaders = new Map(
    topic.partitions.map(({ partitionIndex, leaderId }) => [partitionIndex, brokers.get(leaderId) ?? leaderId]),
  );
  const partitions = [...leaders.keys()].toSorted((a, b) => a - b);
  const leaderOf = (partition: number): KafkaBroker => {
    const leader = leaders.get(partition);
    if (typeof leader === 'object') return leader;
    throw new SourceWaitError(`partition ${partition} of "${place.topic}" has no leader at the moment`, {
      unlimited: true,
    });
  };
  // Older brokers identify a topic only by its name, which the library's types do not express.
  const topicId = 'topicId' in topic ? topic.topicId : '';
  return {
    topic: { id: `${metadata.clusterId ?? `${broker.host}:${broker.port}`}/${topicId || place.topic}`, partitions },
    offsets: async (at) => {
      const byLeader = Map.groupBy(partitions, leaderOf);
      const found = new Map<number, number>();
      for (const [leader, own] of byLeader) {
        const { topics } = await ask(deps, leader, (connection) => listOffsets(connection, place.topic, own, at));
        for (const { partitionIndex, offset } of topics[0]?.partitions ?? []) found.set(partitionIndex, Number(offset));
      }
      return found;
    },
    fetch: (partition, offset) =>
      ask(deps, leaderOf(partition), (connection) =>
        fetchFrom(connection, { name: place.topic, id: topicId }, partition, offset),
      ),
    [Symbol.asyncDispose]: () => connections.close(),
  };
}

/** Returns the response of the first reachable broker; throws the last error if all fail. */
async function firstAnswer(
  deps: ClientDeps,
): Promise<{ readonly broker: KafkaBroker; readonly metadata: ClusterMetadata }> {
  const { place } = deps;
  let lastError: unknown = new SourceError('expected the address of a Kafka broker, got none');
  for (const broker of place.brokers) {
    try {
      return { broker, metadata: await ask(deps, broker, (connection) => readMetadata(connection, place.topic)) };
    } catch (error) {
      if (!(error instanceof SourceWaitError)) throw error;
      lastError = error;
    }
  }
  throw lastError;
}

async function ask<T>(
  { place, connections, signal }: ClientDeps,
  broker: KafkaBroker,
  request: (connection: KafkaConnection) => Promise<T>,
): Promise<T> {
  try {
    return await request(await connections.to(broker));
  } catch (error) {
    throw signal.aborted ? signal.reason : kafkaError(error, { place, broker });
  }
}

async function readMetadata(connection: KafkaConnection, topic: string): Promise<ClusterMetadata> {
  const { metadataV12, metadataV9, metadataV7 } = await kafkaLibrary();
  const form = connection.agree(keys.metadata, [
    { version: 12, flexible: true, request: metadataV12.createRequest, parse: metadataV12.parseResponse },
    { version: 9, flexible: true, request: metadataV9.createRequest, parse: metadataV9.parseResponse },
    { version: 7, flexible: false, request: metadataV7.createRequest, parse: metadataV7.parseResponse },
  ]);
  // Does not create a missing topic.
  return await connection.ask(keys.metadata, form, () => form.request([topic], false));
}

async function listOffsets(
  connection: KafkaConnection,
  topic: string,
  partitions: readonly number[],
  at: OffsetAt,
): Promise<offsetsApi.ListOffsetsResponse> {
  const { listOffsetsV7, listOffsetsV6, listOffsetsV5 } = await kafkaLibrary();
  const timestamp = typeof at === 'number' ? BigInt(at) : timeOf[at];
  const requested = partitions.map((partitionIndex) => ({ partitionIndex, currentLeaderEpoch: -1, timestamp }));
  const request: offsetsApi.ListOffsetsRequest = [-1, readCommitted, [{ name: topic, partitions: requested }]];
  const form = connection.agree(keys.listOffsets, [
    { version: 7, flexible: true, request: listOffsetsV7.createRequest, parse: listOffsetsV7.parseResponse },
    { version: 6, flexible: true, request: listOffsetsV6.createRequest, parse: listOffsetsV6.parseResponse },
    { version: 5, flexible: false, request: listOffsetsV5.createRequest, parse: listOffsetsV5.parseResponse },
  ]);
  return await connection.ask(keys.listOffsets, form, () => form.request(...request));
}

/** Without a fetch session, so that requests are independent. */
async function fetchFrom(
  connection: KafkaConnection,
  topic: { readonly name: string; readonly id: string },
  partition: number,
  offset: number,
): Promise<FetchAnswer> {
  const { fetchV17, fetchV15, fetchV13, fetchV12, fetchV11 } = await kafkaLibrary();
  const forms = [
    { version: 17, request: fetchV17.createRequest },
    { version: 15, request: fetchV15.createRequest },
    { version: 13, request: fetchV13.createRequest },
    { version: 12, request: fetchV12.createRequest },
    { version: 11, request: fetchV11.createRequest },
  ];
  const known = forms.filter(({ version }) => topic.id !== '' || version <= flexibleSince);
  const { version, request } = connection.agree(keys.fetch, known);
  const topicId = version > flexibleSince ? topic.id : topic.name;
  const from = {
    partition,
    currentLeaderEpoch: -1,
    fetchOffset: BigInt(offset),
    lastFetchedEpoch: -1,
    partitionMaxBytes: fetchBytes,
  };
  const payload = (): Writer =>
    request(fetchWaitMs, 1, fetchBytes, readCommitted, 0, -1, [{ topicId, partitions: [from] }], [], '');
  return await connection.ask(
    keys.fetch,
    { version, flexible: version >= flexibleSince, parse: (_id, _key, of, reader) => answerOf(parseFetch(of, reader)) },
    payload,
  );
}

/** Returns the response for the one requested partition. */
function answerOf({ errorCode, partitions: [answer] }: FetchAnswers): FetchAnswer {
  const found = answer ?? {
    topic: '',
    partition: 0,
    errorCode: 0,
    highWatermark: -1n,
    logStart: -1n,
    preferredReplica: -1,
    aborted: [],
    records: empty,
  };
  return errorCode === 0 ? found : { ...found, errorCode };
}
