import type { Reader } from '@platformatic/kafka';

/** What a broker answers for one partition. */
export interface FetchAnswer {
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

/**
 * Reads the answer to a request for one partition, versions 11 to 17. The client library reads it too, but leaves out the
 * checksums, and what a disk has altered would be taken for what was written.
 */
export function parseFetch(version: number, reader: Reader): FetchAnswer {
  const flexible = version >= flexibleSince;
  reader.readInt32();
  const errorCode = reader.readInt16();
  reader.readInt32();
  const [topic] = reader.readArray(
    (r) => {
      if (version > flexibleSince) r.readUUID();
      else r.readString(flexible);
      return r.readArray((each) => readPartition(each, flexible), flexible, flexible);
    },
    flexible,
    flexible,
  );
  const answer = topic?.[0] ?? { errorCode: 0, highWatermark: -1n, logStart: -1n, aborted: [], records: none };
  return errorCode === 0 ? answer : { ...answer, errorCode };
}

function readPartition(reader: Reader, flexible: boolean): FetchAnswer {
  reader.readInt32();
  const errorCode = reader.readInt16();
  const highWatermark = reader.readInt64();
  // Of what is decided: the request asks for nothing beyond.
  reader.readInt64();
  const logStart = reader.readInt64();
  const readAborted = (r: Reader): AbortedTransaction => ({ producerId: r.readInt64(), firstOffset: r.readInt64() });
  const aborted = reader.readNullableArray(readAborted, flexible, flexible) ?? [];
  reader.readInt32();
  return { errorCode, highWatermark, logStart, aborted, records: reader.readNullableBytes(flexible) ?? none };
}
