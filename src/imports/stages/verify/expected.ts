import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { parseMicros } from '../../../stores/events/micros.ts';
import {
  contentKindOf,
  createChecksum,
  createContentChecksum,
  emptyChecksum,
  withoutRunMark,
  xorChecksums,
  type ContentKind,
} from '../../checksum.ts';
import type { StoredDay } from '../../run/import-day.ts';
import { loadRejectedPrefix } from '../load/deliver-frame.ts';
import type { RejectedRecord, Staging } from '../../staging.ts';
import type { StoredCount } from '../../target.ts';

const decompress = promisify(zstdDecompress);

/** An event of the run as it should be stored. */
export interface ExpectedIdentity {
  readonly event: string;
  readonly uuid: string;
  readonly distinctId: string;
  /** µs since the epoch. */
  readonly timestamp: bigint;
}

/** An expected event with its contribution to the checksum of contents. */
export interface ExpectedEvent extends ExpectedIdentity {
  readonly content: string;
}

const propertiesStart = ',"properties":{';

/** Parses an event in the form in which the load sent it. */
function sentEvent(text: string, run: string, contents: ContentKind): ExpectedEvent {
  // The load wrote it: an object with these four texts.
  const { event, uuid, distinct_id: id, timestamp } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const micros = parseMicros(String(timestamp));
  if (micros === undefined) throw new Error(`expected the time of a sent event as ISO 8601, got: ${String(timestamp)}`);
  const identity = { event: String(event), uuid: String(uuid), distinctId: String(id), timestamp: micros };
  const sum = createContentChecksum(contents);
  // Properties come last; quotes within a text are escaped, so nothing else looks like their name.
  const properties = text.slice(text.indexOf(propertiesStart) + propertiesStart.length - 1, -1);
  sum.add({ ...identity, micros }, withoutRunMark(properties, run));
  return { ...identity, content: sum.digits() };
}

export function expectedKey({ event, uuid, distinctId }: Omit<ExpectedIdentity, 'timestamp'>): string {
  return JSON.stringify([uuid, event, distinctId]);
}

/** Reads the events of a day that the target rejected during the load. */
export async function refusedAtLoad(
  staging: Staging,
  run: string,
  day: string,
  contents: ContentKind,
): Promise<ExpectedEvent[]> {
  const refused: ExpectedEvent[] = [];
  for (const { key } of await staging.list(loadRejectedPrefix(run, day))) {
    const chunks: Buffer[] = [];
    for await (const chunk of staging.read(key)) chunks.push(chunk);
    const text = (await decompress(Buffer.concat(chunks))).toString('utf8').trimEnd();
    // The load wrote one line per event.
    const records = text.split('\n').map((line) => JSON.parse(line) as RejectedRecord);
    refused.push(...records.map(({ original }) => sentEvent(original, run, contents)));
  }
  return refused;
}

/** Returns count and checksums by event name of what the target accepted. */
export function expectedCounts(
  day: Pick<StoredDay, 'expected'>,
  refused: readonly ExpectedEvent[],
): ReadonlyMap<string, StoredCount> {
  const staged = stagedCounts(day);
  return new Map(
    staged.flatMap(([event, { count, checksum, content }]): [string, StoredCount][] => {
      const without = refused.filter((each) => each.event === event);
      const left = count - without.length;
      if (left === 0) return [];
      const rest =
        content === undefined ? undefined : without.reduce((sum, each) => xorChecksums(sum, each.content), content);
      return [[event, { count: left, checksum: xorChecksums(checksum, checksumOf(without)), content: rest }]];
    }),
  );
}

/** Returns the kind of the content checksum that the check wrote. */
export function expectedContents(day: Pick<StoredDay, 'expected'>): ContentKind {
  const content = stagedCounts(day).find(([, each]) => each.content !== undefined)?.[1].content;
  return content === undefined ? 'crc32' : contentKindOf(content);
}

function stagedCounts({ expected }: Pick<StoredDay, 'expected'>): [event: string, count: StoredCount][] {
  // The check wrote it.
  return Object.entries(JSON.parse(expected === '' ? '{}' : expected) as Record<string, StoredCount>);
}

function checksumOf(identities: readonly ExpectedIdentity[]): string {
  if (identities.length === 0) return emptyChecksum;
  const checksum = createChecksum();
  for (const { uuid, distinctId, timestamp } of identities) checksum.add(uuid, distinctId, timestamp);
  return checksum.digits();
}

/** Returns names whose count or checksums differ, in both directions; contents only if both sides have them. */
export function differingEvents(
  expected: ReadonlyMap<string, StoredCount>,
  stored: ReadonlyMap<string, StoredCount>,
): string[] {
  return [...new Set([...expected.keys(), ...stored.keys()])].filter((event) => {
    const one = expected.get(event);
    const other = stored.get(event);
    return one?.count !== other?.count || one?.checksum !== other?.checksum || haveOtherContents(one, other);
  });
}

/** Returns whether every event is stored with its id, name and time, regardless of its properties. */
export function haveSameIdentities(
  expected: ReadonlyMap<string, StoredCount>,
  stored: ReadonlyMap<string, StoredCount>,
): boolean {
  return differingEvents(identitiesOf(expected), identitiesOf(stored)).length === 0;
}

function identitiesOf(counts: ReadonlyMap<string, StoredCount>): ReadonlyMap<string, StoredCount> {
  return new Map([...counts].map(([event, { count, checksum }]) => [event, { count, checksum }]));
}

function haveOtherContents(one: StoredCount | undefined, other: StoredCount | undefined): boolean {
  return one !== undefined && other !== undefined && areComparable(one, other) && one.content !== other.content;
}

function areComparable({ content: one }: StoredCount, { content: other }: StoredCount): boolean {
  return one !== undefined && other !== undefined && contentKindOf(one) === contentKindOf(other);
}

/** Returns whether contents can be compared: older targets, and runs of older versions, lack their checksum or have another kind. */
export function haveContents(
  expected: ReadonlyMap<string, StoredCount>,
  stored: ReadonlyMap<string, StoredCount>,
): boolean {
  return [...expected].every(([event, count]) => {
    const other = stored.get(event);
    return count.content !== undefined && (other === undefined || areComparable(count, other));
  });
}
