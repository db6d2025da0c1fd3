import type { Reader } from '@platformatic/kafka';

/** Response of a broker for one partition. */
export interface FetchAnswer {
  /** The topic's name up to version 12, its id since then. */
  readonly topic: string;
  readonly partition: number;
  /** Kafka's error code; 0 means success. */
  readonly errorCode: number;
  /** Ends of the log known to the broker. */
  readonly highWatermark: bigint;
  readonly logStart: bigint;
  readonly aborted: readonly AbortedTransaction[];
  /** Id of the broker with the replica to fetch from instead, without records; -1 means this broker. */
  readonly preferredReplica: number;
  /** Batches as stored in the log; the last one may be truncated. */
  readonly records: Buffer;
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

/** Since this version numbers are packed and a topic may be identified by its id only. */
export const flexibleSince = 12;
const none: Buffer = Buffer.alloc(0);

export interface FetchAnswers {
  /** Kafka's error code for the whole request; 0 means success. */
  readonly errorCode: number;
  readonly partitions: readonly FetchAnswer[];
}

/**
 * Parses the response to a fetch request, versions 11 to 17. The client library can parse it as well, but ignores the checksums, so
 * records that a disk has altered would be accepted.
 */
export function parseFetch(version: number, reader: Reader): FetchAnswers {
  const flexible = version >= flexibleSince;
  reader.readInt32();
  const errorCode = reader.readInt16();
  reader.readInt32();
  const topics = reader.readArray(
    (r) => {
      const topic = version > flexibleSince ? r.readUUID() : r.readString(flexible);
      return r.readArray((each) => readPartition(each, topic, flexible), flexible, flexible);
    },
    flexible,
    flexible,
  );
  return { errorCode, partitions: topics.flat() };
}

function readPartition(reader: Reader, topic: string, flexible: boolean): FetchAnswer {
  const partition = reader.readInt32();
  const errorCode = reader.readInt16();
  const highWatermark = reader.readInt64();
  // The last stable offset: the request fetches nothing beyond.
  reader.readInt64();
  const logStart = reader.readInt64();
  const readAborted = (r: Reader): AbortedTransaction => ({ producerId: r.readInt64(), firstOffset: r.readInt64() });
  const aborted = reader.readNullableArray(readAborted, flexible, flexible) ?? [];
  const preferredReplica = reader.readInt32();
  return {
    topic,
    partition,
    errorCode,
    highWatermark,
    logStart,
    aborted,
    preferredReplica,
    records: reader.readNullableBytes(flexible) ?? none,
  };
}
