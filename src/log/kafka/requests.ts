/** The requests of the log, each in one version that Kafka 3.1 and newer supports. */
import type {
  createTopicsV7,
  deleteRecordsV2,
  describeConfigsV4,
  listOffsetsV7,
  metadataV12,
  produceV9,
  ResponseParser,
  Writer,
} from '@platformatic/kafka';
import { kafkaLibrary, type KafkaConnection } from '../kafka-connection/connections.ts';
import type { KafkaBroker } from '../kafka-connection/access.ts';
import { parseFetch, type FetchAnswers } from '../kafka-connection/fetch-answer.ts';

export type ClusterMetadata = metadataV12.MetadataResponse;
export type ListedOffsets = listOffsetsV7.ListOffsetsResponse;
export type ProduceAnswer = produceV9.ProduceResponse;
export type DeletedRecords = deleteRecordsV2.DeleteRecordsResponse;
export type DescribedConfigs = describeConfigsV4.DescribeConfigsResponse;
export type NewTopic = createTopicsV7.CreateTopicsRequestTopic;
export type CreatedTopics = createTopicsV7.CreateTopicsResponse;

const keys = {
  produce: 0,
  fetch: 1,
  listOffsets: 2,
  metadata: 3,
  offsetCommit: 8,
  offsetFetch: 9,
  findCoordinator: 10,
  createTopics: 19,
  deleteRecords: 21,
  initProducerId: 22,
  describeConfigs: 32,
} as const;
const allReplicas = -1;
const topicResource = 2;
const brokerResource = 4;
const readUncommitted = 0;
const groupKey = 0;
const noGeneration = -1;
const noMember = '';
/** No fetch session, so that each request is independent. */
const noSession = [0, -1] as const;

interface Form<Response> {
  readonly version: number;
  readonly parse: ResponseParser<Response>;
}

/** Some responses contain an error for one part and a result for the others. */
async function send<Response>(
  connection: KafkaConnection,
  apiKey: number,
  { version, parse }: Form<Response>,
  payload: () => Writer,
): Promise<Response> {
  connection.agree(apiKey, [{ version }]);
  return await connection.ask(apiKey, { version, flexible: true, parse }, payload);
}

/** Sends a request and returns partial results as well: each part contains its error. */
async function sendParts<Response>(...request: Parameters<typeof send<Response>>): Promise<Response> {
  const { ResponseError } = await kafkaLibrary();
  try {
    return await send(...request);
  } catch (error) {
    if (error instanceof ResponseError && error['response'] !== undefined) return error['response'] as Response;
    throw error;
  }
}

/** Reads metadata without creating missing topics. */
export async function readMetadata(connection: KafkaConnection, topics: readonly string[]): Promise<ClusterMetadata> {
  const { metadataV12: form } = await kafkaLibrary();
  const payload = (): Writer => form.createRequest([...topics], false);
  return await sendParts(connection, keys.metadata, { version: 12, parse: form.parseResponse }, payload);
}

/** Returns where partitions begin or end. */
export async function listOffsets(
  connection: KafkaConnection,
  at: 'earliest' | 'end',
  topics: readonly { readonly name: string; readonly partitions: readonly number[] }[],
): Promise<ListedOffsets> {
  const { listOffsetsV7: form } = await kafkaLibrary();
  const timestamp = at === 'earliest' ? -2n : -1n;
  const asked = topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map((partitionIndex) => ({ partitionIndex, currentLeaderEpoch: -1, timestamp })),
  }));
  const payload = (): Writer => form.createRequest(-1, readUncommitted, asked);
  return await sendParts(connection, keys.listOffsets, { version: 7, parse: form.parseResponse }, payload);
}

/** Returns the broker that keeps the offsets of a consumer group. */
export async function findCoordinator(connection: KafkaConnection, group: string): Promise<KafkaBroker> {
  const { findCoordinatorV4: form } = await kafkaLibrary();
  const payload = (): Writer => form.createRequest(groupKey, [group]);
  const request = { version: 4, parse: form.parseResponse };
  const { coordinators } = await send(connection, keys.findCoordinator, request, payload);
  const [found] = coordinators;
  if (found === undefined) throw new Error(`expected a coordinator of the group "${group}", got none`);
  return { host: found.host, port: found.port };
}

/** Sets offsets of a group without joining it, which brokers permit while it has no members. Throws if one of them is refused. */
export async function commitOffsets(
  connection: KafkaConnection,
  group: string,
  topics: readonly {
    readonly name: string;
    readonly partitions: readonly { readonly partitionIndex: number; readonly committedOffset: bigint }[];
  }[],
): Promise<void> {
  const { offsetCommitV8: form } = await kafkaLibrary();
  const asked = topics.map(({ name, partitions }) => ({
    name,
    partitions: partitions.map((each) => ({ ...each, committedLeaderEpoch: -1, committedMetadata: null })),
  }));
  const payload = (): Writer => form.createRequest(group, noGeneration, noMember, null, asked);
  await send(connection, keys.offsetCommit, { version: 8, parse: form.parseResponse }, payload);
}

/** Returns the committed offsets of a group by topic and partition. */
export async function fetchOffsets(
  connection: KafkaConnection,
  group: string,
  topics: readonly { readonly name: string; readonly partitionIndexes: number[] }[],
): Promise<ReadonlyMap<string, ReadonlyMap<number, number>>> {
  const { offsetFetchV8: form } = await kafkaLibrary();
  // Version 8 has no members.
  const asked = [{ groupId: group, memberEpoch: -1, topics: [...topics] }];
  const payload = (): Writer => form.createRequest(asked, false);
  const { groups } = await send(connection, keys.offsetFetch, { version: 8, parse: form.parseResponse }, payload);
  return new Map(
    (groups[0]?.topics ?? []).map(({ name, partitions }) => {
      const committed = partitions.filter(({ committedOffset }) => committedOffset >= 0n);
      return [name, new Map(committed.map((each) => [each.partitionIndex, Number(each.committedOffset)]))];
    }),
  );
}

export interface ProducerId {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

/** Requests a new producer id, by which a broker recognises batches that it already has. */
export async function initProducerId(connection: KafkaConnection): Promise<ProducerId> {
  const { initProducerIdV4: form } = await kafkaLibrary();
  const payload = (): Writer => form.createRequest(null, 0);
  return await send(connection, keys.initProducerId, { version: 4, parse: form.parseResponse }, payload);
}

/** The records of one partition in one request. */
export interface ProducedBatch extends ProducerId {
  readonly topic: string;
  readonly partition: number;
  /** Number of records sent to the partition with this id before. */
  readonly sequence: number;
  readonly messages: readonly {
    readonly value: Buffer;
    readonly headers: Map<Buffer, Buffer>;
    /** ms since the epoch. */
    readonly timestamp: bigint;
  }[];
}

/** Produces batches; answered once all in-sync replicas have them. */
export async function produce(
  connection: KafkaConnection,
  batches: readonly ProducedBatch[],
  timeoutMs: number,
): Promise<ProduceAnswer> {
  const { produceV9, Writer: WriterOf, createRecordsBatch, NumericMap } = await kafkaLibrary();
  const byTopic = [...Map.groupBy(batches, ({ topic }) => topic)];
  const recordsOf = ({ topic, partition, sequence, messages, producerId, producerEpoch }: ProducedBatch): Writer => {
    const sequences = new NumericMap([[`${topic}:${partition}`, sequence]]);
    const records = messages.map((message) => ({ ...message, topic, partition }));
    return createRecordsBatch(records, { producerId, producerEpoch, sequences });
  };
  const payload = (): Writer =>
    WriterOf.create()
      .appendString(null)
      .appendInt16(allReplicas)
      .appendInt32(timeoutMs)
      .appendArray(byTopic, (writer, [topic, own]) => {
        writer.appendString(topic).appendArray(own, (each, batch) => {
          const records = recordsOf(batch);
          each
            .appendInt32(batch.partition)
            .appendUnsignedVarInt(records.length + 1)
            .appendFrom(records);
        });
      })
      .appendTaggedFields();
  return await sendParts(connection, keys.produce, { version: 9, parse: produceV9.parseResponse }, payload);
}

export interface FetchRequest {
  /** Zone in which the leader looks for a replica to fetch from; an empty string means the leader itself. */
  readonly rack: string;
  readonly waitMs: number;
  /** Size limit of the response; the first batch is complete in any case. */
  readonly bytesMax: number;
  readonly partitions: readonly {
    readonly topicId: string;
    readonly partition: number;
    readonly offset: number;
    readonly bytesMax: number;
  }[];
}

/** Fetches records and waits up to `waitMs` for the first byte. */
export async function fetchRecords(connection: KafkaConnection, request: FetchRequest): Promise<FetchAnswers> {
  const { fetchV13 } = await kafkaLibrary();
  const topics = [...Map.groupBy(request.partitions, ({ topicId }) => topicId)].map(([topicId, own]) => ({
    topicId,
    partitions: own.map(({ partition, offset, bytesMax }) => ({
      partition,
      currentLeaderEpoch: -1,
      fetchOffset: BigInt(offset),
      lastFetchedEpoch: -1,
      partitionMaxBytes: bytesMax,
    })),
  }));
  const payload = (): Writer =>
    fetchV13.createRequest(
      request.waitMs,
      1,
      request.bytesMax,
      readUncommitted,
      ...noSession,
      topics,
      [],
      request.rack,
    );
  const parse: ResponseParser<FetchAnswers> = (_id, _key, version, reader) => parseFetch(version, reader);
  return await send(connection, keys.fetch, { version: 13, parse }, payload);
}

export async function createTopics(
  connection: KafkaConnection,
  topics: readonly NewTopic[],
  timeoutMs: number,
): Promise<CreatedTopics> {
  const { createTopicsV7: form } = await kafkaLibrary();
  const payload = (): Writer => form.createRequest([...topics], timeoutMs, false);
  return await sendParts(connection, keys.createTopics, { version: 7, parse: form.parseResponse }, payload);
}

/** Returns the effective settings of topics. */
export async function describeTopics(
  connection: KafkaConnection,
  topics: readonly string[],
): Promise<DescribedConfigs> {
  const { describeConfigsV4: form } = await kafkaLibrary();
  const resources = topics.map((resourceName) => ({ resourceType: topicResource, resourceName }) as const);
  const payload = (): Writer => form.createRequest(resources, false, false);
  return await sendParts(connection, keys.describeConfigs, { version: 4, parse: form.parseResponse }, payload);
}

/** Returns one setting of the broker of the connection: its value, which is empty if it is not set, or Kafka's error code. */
export async function readBrokerSetting(
  connection: KafkaConnection,
  nodeId: number,
  setting: string,
): Promise<string | number> {
  const { describeConfigsV4: form } = await kafkaLibrary();
  const resource = { resourceType: brokerResource, resourceName: String(nodeId) } as const;
  const payload = (): Writer => form.createRequest([{ ...resource, configurationKeys: [setting] }], false, false);
  const request = { version: 4, parse: form.parseResponse };
  const { results } = await sendParts(connection, keys.describeConfigs, request, payload);
  const [found] = results;
  return found?.errorCode || (found?.configs.find(({ name }) => name === setting)?.value ?? '');
}

/** Deletes everything before the offset of each partition. */
export async function deleteRecords(
  connection: KafkaConnection,
  topics: readonly {
    readonly name: string;
    readonly partitions: { readonly partitionIndex: number; readonly offset: bigint }[];
  }[],
  timeoutMs: number,
): Promise<DeletedRecords> {
  const { deleteRecordsV2: form } = await kafkaLibrary();
  const payload = (): Writer => form.createRequest([...topics], timeoutMs);
  return await sendParts(connection, keys.deleteRecords, { version: 2, parse: form.parseResponse }, payload);
}
