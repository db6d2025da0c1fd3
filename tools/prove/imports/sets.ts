import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { Session } from 'chdb';
import { canonicalUuid } from '../../../src/base/uuids.ts';
import { ownTime } from '../../../src/wire/batch/event-time.ts';
import { scanBatch } from '../../../src/wire/batch/scan.ts';
import { distinctIdText, fieldFrom, fieldTo } from '../../../src/wire/batch/spans.ts';
import { validateEvent } from '../../../src/wire/batch/validate.ts';
import type { Format, FormatOptions } from '../../../src/imports/formats/format.ts';
import type { WireEvent } from '../../../src/wire/contract/wire-event.ts';
import { storedId } from '../../../src/wire/batch/stored-id.ts';

/** Identity (day, event, distinct_id, uuid) → µs since the epoch. */
export type EventSet = Map<string, string>;

const limits = { eventBytesMax: 1_048_576, depthMax: 64, keysMax: 10_000 };

/** What the format makes of a file, by the plainest way: line by line, the earliest of equal identities stays. */
export function expectedSet(format: Format, options: FormatOptions, file: string): EventSet {
  return setOfEvents(eventsOf(format, options, file));
}

export function* eventsOf(format: Format, options: FormatOptions, file: string): Generator<WireEvent> {
  const read = format.createReader(options, format.names);
  for (const line of linesOf(file)) {
    const record = parsed(line);
    if (record === undefined) continue;
    const result = read(record);
    if (result.kind === 'events') yield* result.events;
  }
}

/** What is stored of these, as they are sent. */
export function setOfEvents(events: Iterable<WireEvent>): EventSet {
  const set: EventSet = new Map();
  for (const event of events) {
    const stored = throughIngest(event);
    if (stored === undefined) continue;
    const day = new Date(stored.micros / 1000).toISOString().slice(0, 10);
    const key = [day, event.event.toWellFormed(), stored.distinctId, event.uuid.toLowerCase()].join('\u0001');
    const before = set.get(key);
    if (before === undefined || Number(before) > stored.micros) set.set(key, String(stored.micros));
  }
  return set;
}

/** Returns the stored events of a stopped service. */
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

/** Returns the event as capture would accept it, byte by byte; `undefined` if it would not, or if it has no own uuid or time. */
function throughIngest(event: WireEvent): { readonly micros: number; readonly distinctId: string } | undefined {
  const marked = { ...event, properties: { ...event.properties, $import_run_id: '0123456789abcdef' } };
  const scan = scanBatch(Buffer.from(`[${JSON.stringify(marked)}]`), limits);
  if (!validateEvent(scan, 0, 'historical', Date.now()).ok || canonicalUuid(event.uuid) === undefined) return undefined;
  const micros = ownTime(scan, 0);
  if (typeof micros !== 'number') return undefined;
  const id = distinctIdText(scan.json, fieldFrom(scan, 0, 'distinctId'), fieldTo(scan, 0, 'distinctId'));
  return { micros, distinctId: storedId(id) };
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
