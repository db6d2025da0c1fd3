import type { RunRef, StoreReader } from '../../../stores/events/eventstore.ts';
import { runTableProperties } from '../../../stores/events/run-table-reads.ts';
import { withoutRunMark } from '../../checksum.ts';
import type { TargetReader } from '../../target.ts';
import { readStore } from '../../targets/read-store.ts';
import { altered, type Differences } from './differences.ts';
import type { ExpectedIdentity } from './expected.ts';
import { propertyChanges } from './property-changes.ts';

export interface CompareContents {
  /** Has the table of the run. */
  readonly store: StoreReader;
  readonly reader: TargetReader;
  readonly run: RunRef;
  readonly day: string;
  readonly differences: Differences;
  readonly signal: AbortSignal;
}

/** Events whose properties are asked for at once. */
const askedMax = 50;

/**
 * Reads the properties of events whose checksum of contents differs, and compares what they say. `onSame` gets the name of
 * an event that says the same in another spelling.
 */
export async function compareContents(
  options: CompareContents,
  suspects: readonly ExpectedIdentity[],
  onSame: (event: string) => void,
): Promise<void> {
  for (const [event, same] of Map.groupBy(suspects, (identity) => identity.event)) {
    for (let at = 0; at < same.length; at += askedMax) {
      await compareSome(options, event, same.slice(at, at + askedMax), onSame);
    }
  }
}

async function compareSome(
  { store, reader, run, day, differences, signal }: CompareContents,
  event: string,
  asked: readonly ExpectedIdentity[],
  onSame: (event: string) => void,
): Promise<void> {
  const uuids = asked.map(({ uuid }) => uuid);
  const rows = await readStore(() => runTableProperties(store, run, { day, event, uuids }));
  const expected = new Map(rows.map(({ uuid, distinctId, properties }) => [`${uuid} ${distinctId}`, properties]));
  const stored = await reader.dayProperties?.(day, event, uuids, signal);
  for (const identity of asked) {
    const key = `${identity.uuid} ${identity.distinctId}`;
    const [own, text] = [expected.get(key) ?? '{}', stored?.get(key)];
    const changes =
      text === undefined
        ? ['the properties that were sent, stored are others']
        : propertyChanges(withoutRunMark(own, run.runId), withoutRunMark(text, run.runId));
    if (changes.length === 0) onSame(event);
    else differences.add(altered(day, identity, changes));
  }
}
