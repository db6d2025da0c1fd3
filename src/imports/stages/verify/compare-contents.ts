import { withoutRunMark } from '../../checksum.ts';
import type { Staging } from '../../staging.ts';
import type { TargetReader } from '../../target.ts';
import { splitLines } from '../../targets/lines.ts';
import { readDayFrames, readDayIndex } from '../load/read-day.ts';
import { altered, type Differences } from './differences.ts';
import { expectedIdentity, expectedKey, expectedProperties, type ExpectedIdentity } from './expected.ts';
import { propertyChanges } from './property-changes.ts';

export interface CompareContents {
  readonly staging: Staging;
  readonly reader: TargetReader;
  readonly run: string;
  readonly day: string;
  readonly differences: Differences;
  readonly signal: AbortSignal;
}

/** Events whose properties are asked for at once. */
const askedMax = 50;

/** Of one name. */
interface Asked {
  readonly identity: ExpectedIdentity;
  readonly properties: string;
}

/**
 * Reads the properties of events whose checksum of contents differs, and compares what they say. `onSame` hears the name of
 * an event that says the same in another spelling.
 */
export async function compareContents(
  options: CompareContents,
  keys: ReadonlySet<string>,
  onSame: (event: string) => void,
): Promise<void> {
  if (keys.size === 0) return;
  const { staging, run, day, signal } = options;
  const asked = new Map<string, Asked[]>();
  for await (const { lines } of readDayFrames(staging, run, await readDayIndex(staging, run, day))) {
    signal.throwIfAborted();
    for (const line of splitLines(lines)) {
      const identity = expectedIdentity(line);
      if (!keys.has(expectedKey(identity))) continue;
      const same = asked.get(identity.event) ?? [];
      same.push({ identity, properties: expectedProperties(line, identity.event, run) });
      asked.set(identity.event, same);
      if (same.length < askedMax) continue;
      await compareSome(options, same, onSame);
      asked.delete(identity.event);
    }
  }
  for (const same of asked.values()) await compareSome(options, same, onSame);
}

async function compareSome(
  { reader, run, day, differences, signal }: CompareContents,
  asked: readonly Asked[],
  onSame: (event: string) => void,
): Promise<void> {
  const event = asked[0]?.identity.event ?? '';
  const uuids = asked.map(({ identity }) => identity.uuid);
  const stored = await reader.dayProperties?.(day, event, uuids, signal);
  for (const { identity, properties } of asked) {
    const text = stored?.get(`${identity.uuid} ${identity.distinctId}`);
    const changes =
      text === undefined
        ? ['the properties that were sent, stored are others']
        : propertyChanges(properties, withoutRunMark(text, run));
    if (changes.length === 0) onSame(event);
    else differences.add(altered(day, identity, changes));
  }
}
