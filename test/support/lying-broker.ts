/** A broker that speaks Kafka's protocol, and lies about what it has: one topic with one partition. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { crc32c } from '@platformatic/kafka';

export interface Lies {
  /** The offset behind the last record; default 10. */
  readonly end?: bigint;
  /** Batches, for a fetch from this offset. */
  readonly records: (offset: bigint) => Buffer;
  /** The whole answer to a fetch, the size before it included, in place of the right one. */
  readonly frame?: (right: Buffer) => Buffer;
}

export interface LyingBroker extends AsyncDisposable {
  readonly brokers: string;
  /** How often records were asked for. */
  readonly fetches: () => number;
}

const keys = { fetch: 1, offsets: 2, metadata: 3, versions: 18 } as const;
/** The oldest that the client knows: all lengths have four or two bytes. */
const spoken = [
  [keys.fetch, 11],
  [keys.offsets, 5],
  [keys.metadata, 7],
  [keys.versions, 1],
] as const;

export async function startLyingBroker(lies: Lies): Promise<LyingBroker> {
  const sockets = new Set<Socket>();
  let fetches = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    let waiting = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, chunk]);
      for (; waiting.length >= 4 && waiting.length >= 4 + waiting.readInt32BE(0);) {
        const end = 4 + waiting.readInt32BE(0);
        const request = waiting.subarray(4, end);
        waiting = waiting.subarray(end);
        const right = framed(answerTo(request, lies, portOf(server)));
        const isFetch = request.readInt16BE(0) === keys.fetch;
        if (isFetch) fetches += 1;
        socket.write(isFetch ? (lies.frame?.(right) ?? right) : right);
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    brokers: `127.0.0.1:${portOf(server)}`,
    fetches: () => fetches,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** With its size before it. */
export function framed(answer: Buffer): Buffer {
  return Buffer.concat([int32(answer.length), answer]);
}

function answerTo(request: Buffer, { end = 10n, records }: Lies, port: number): Buffer {
  const correlation = request.subarray(4, 8);
  const body = request.subarray(10 + Math.max(0, request.readInt16BE(8)));
  const topic = text('events');
  switch (request.readInt16BE(0)) {
    case keys.versions:
      return join(
        correlation,
        int16(0),
        list(spoken.map(([key, version]) => join(int16(key), int16(version), int16(version)))),
        int32(0),
      );
    case keys.metadata: {
      const partition = join(int16(0), int32(0), int32(1), int32(0), list([int32(1)]), list([int32(1)]), list([]));
      return join(
        correlation,
        int32(0),
        list([join(int32(1), text('127.0.0.1'), int32(port), int16(-1))]),
        text('a cluster'),
        int32(1),
        list([join(int16(0), topic, Buffer.from([0]), list([partition]))]),
      );
    }
    case keys.offsets: {
      // The time asked for stands last; -2 is the beginning.
      const offset = body.readBigInt64BE(body.length - 8) === -2n ? 0n : end;
      const partition = join(int32(0), int16(0), int64(-1n), int64(offset), int32(0));
      return join(correlation, int32(0), list([join(topic, list([partition]))]));
    }
    default: {
      const batches = records(fetchOffset(body));
      const ends = join(int64(end), int64(end), int64(0n));
      const partition = join(int32(0), int16(0), ends, int32(-1), int32(-1), int32(batches.length), batches);
      return join(correlation, int32(0), int16(0), int32(0), list([join(topic, list([partition]))]));
    }
  }
}

/** Behind replica, wait, sizes, isolation, session, the topic's name and partition, epoch. */
function fetchOffset(body: Buffer): bigint {
  const topicAt = 4 + 4 + 4 + 4 + 1 + 4 + 4 + 4;
  const partitionAt = topicAt + 2 + body.readInt16BE(topicAt) + 4;
  return body.readBigInt64BE(partitionAt + 4 + 4);
}

export interface BatchLies {
  readonly first: bigint;
  readonly count: number;
  /** What the head says instead. */
  readonly lengthSaid?: number;
  readonly countSaid?: number;
  readonly lastDeltaSaid?: number;
}

/** A batch of events, right but for what it is made to say; its checksum holds in any case. */
export function batchOf({ first, count, lengthSaid, countSaid, lastDeltaSaid }: BatchLies): Buffer {
  const records = Array.from({ length: count }, (_, at) => recordOf(at, eventAt(Number(first) + at)));
  const checked = join(
    int16(0),
    int32(lastDeltaSaid ?? count - 1),
    int64(1_700_000_000_000n),
    int64(1_700_000_000_000n),
    int64(-1n),
    int16(-1),
    int32(-1),
    int32(countSaid ?? count),
    ...records,
  );
  const head = join(int32(0), Buffer.from([2]), uint32(crc32c(checked)));
  return join(int64(first), int32(lengthSaid ?? head.length + checked.length), head, checked);
}

function eventAt(n: number): Buffer {
  return Buffer.from(
    JSON.stringify({ event: 'seen', distinct_id: `user ${n}`, timestamp: '2024-01-01T00:00:00Z', properties: { n } }),
  );
}

function recordOf(delta: number, value: Buffer): Buffer {
  const record = join(Buffer.from([0]), varint(0), varint(delta), varint(-1), varint(value.length), value, varint(0));
  return join(varint(record.length), record);
}

const join = (...parts: readonly Buffer[]): Buffer => Buffer.concat(parts);
const list = (items: readonly Buffer[]): Buffer => join(int32(items.length), ...items);
const text = (value: string): Buffer => join(int16(Buffer.byteLength(value)), Buffer.from(value));

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}

/** Zigzag. */
function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
