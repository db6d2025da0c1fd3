import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from 'chdb';
import type { Format, FormatOptions } from '../../src/formats/format.ts';

/** Identity (day, event, distinct_id, uuid) → µs since the epoch. */
export type EventSet = Map<string, string>;

const eventBytesMax = 1_048_576;

/** What the format makes of a file, by the plainest way: line by line, the earliest of equal identities stays. */
export function expectedSet(format: Format, options: FormatOptions, file: string): EventSet {
  const read = format.createReader(options, format.names);
  const set: EventSet = new Map();
  for (const line of linesOf(file)) {
    const record = parsed(line);
    if (record === undefined) continue;
    const result = read(record);
    if (result.kind !== 'events') continue;
    for (const event of result.events) {
      if (Buffer.byteLength(JSON.stringify(event)) > eventBytesMax) continue;
      const micros = microsOf(event.timestamp);
      const day = new Date(Number(micros / 1000n)).toISOString().slice(0, 10);
      const key = [day, event.event, event.distinct_id, event.uuid].join('\u0001');
      const before = set.get(key);
      if (before === undefined || BigInt(before) > micros) set.set(key, String(micros));
    }
  }
  return set;
}

/** What lies in the store of a service that is stopped. */
export async function storedSet(dataDir: string): Promise<EventSet> {
  const session = new Session(join(dataDir, 'events'));
  const set: EventSet = new Map();
  const columns = 'toString(day), event, distinct_id, toString(uuid), toUnixTimestamp64Micro(timestamp)';
  for (let month = 0; month < 64; month++) {
    const answer = await session.queryAsync(
      `SELECT ${columns} FROM millrace.events FINAL WHERE cityHash64(uuid) % 64 = ${month}`,
      { format: 'JSONCompactEachRow' },
    );
    for (const line of answer.text().split('\n')) {
      if (line === '') continue;
      const [day, event, distinctId, uuid, micros] = JSON.parse(line) as [string, string, string, string, string];
      const key = [day, event, distinctId, uuid].join('\u0001');
      if (set.has(key)) throw new Error(`stored twice: ${key}`);
      set.set(key, String(micros));
    }
  }
  session.close();
  return set;
}

function microsOf(timestamp: string): bigint {
  const fraction = /\.(\d+)/.exec(timestamp)?.[1] ?? '';
  const seconds = BigInt(Math.floor(Date.parse(timestamp) / 1000));
  return seconds * 1_000_000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function* linesOf(file: string): Generator<string> {
  const descriptor = openSync(file, 'r');
  const buffer = Buffer.alloc(4 * 1024 * 1024);
  let rest: Buffer = Buffer.alloc(0);
  for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer)) {
    const all: Buffer = Buffer.concat([rest, buffer.subarray(0, count)]);
    const end = all.lastIndexOf(10) + 1;
    yield* all.toString('utf8', 0, end).split('\n').slice(0, -1);
    rest = all.subarray(end);
  }
  if (rest.length > 0) yield rest.toString();
  closeSync(descriptor);
}
