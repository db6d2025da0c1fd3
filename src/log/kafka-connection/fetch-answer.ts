import type { Reader } from '@platformatic/kafka';

/** What a broker answers for one partition. */
export interface FetchAnswer {
  /** Its name up to version 12, then its id. */
  readonly topic: string;
  readonly partition: number;
  /** Of Kafka; 0: none. */
  readonly errorCode: number;
  /** Ends of the log as the broker knows them now. */
  readonly highWatermark: bigint;
  readonly logStart: bigint;
  readonly aborted: readonly AbortedTransaction[];
  /** Batches as they lie in the log; the last one may be cut off. */
  readonly records: Buffer;
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

/** Since this version numbers are packed and a topic may be named by its id only. */
export const flexibleSince = 12;
const none: Buffer = Buffer.alloc(0);

export interface FetchAnswers {
  /** Of Kafka, for the request as a whole; 0: none. */
  readonly errorCode: number;
  readonly partitions: readonly FetchAnswer[];
}

/**
 * Reads the answer to a request for records, versions 11 to 17. The client library reads it too, but leaves out the checksums,
 * and what a disk has altered would be taken for what was written.
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
  // Of what is decided: the request asks for nothing beyond.
  reader.readInt64();
  const logStart = reader.readInt64();
  const readAborted = (r: Reader): AbortedTransaction => ({ producerId: r.readInt64(), firstOffset: r.readInt64() });
  const aborted = reader.readNullableArray(readAborted, flexible, flexible) ?? [];
  reader.readInt32();
  return {
    topic,
    partition,
    errorCode,
    highWatermark,
    logStart,
    aborted,
    records: reader.readNullableBytes(flexible) ?? none,
  };
}
