import type { RunRef, StoreReader } from '../../../stores/events/eventstore.ts';
import type { NamedIdentityKey } from '../../../stores/events/import-reads.ts';
import { runTableEvents } from '../../../stores/events/run-table-reads.ts';
import { contentText, type ContentKind } from '../../checksum.ts';
import type { StoredIdentity, TargetReader } from '../../target.ts';
import { readStorePages } from '../../targets/read-store.ts';
import { compareContents } from './compare-contents.ts';
import { changed, earlier, missing, unexpected, type Differences } from './differences.ts';
import { expectedKey, type ExpectedEvent } from './expected.ts';

interface CompareDay {
  /** Has the run's table. */
  readonly store: StoreReader;
  readonly reader: TargetReader;
  readonly run: RunRef;
  readonly day: string;
  /** Names of the events to compare. */
  readonly events: readonly string[];
  /** Expected number of these events; decides how often both sides are read. */
  readonly expected: number;
  /** Keys (`expectedKey`) of events that need not be stored. */
  readonly refused: ReadonlySet<string>;
  /** Transformations may have changed properties; then different ones are counted and are no fault. */
  readonly mayBeTransformed: boolean;
  readonly differences: Differences;
  readonly signal: AbortSignal;
  /** How properties are compared. */
  readonly contents: ContentKind;
  /** Smaller in tests. */
  readonly identitiesMax?: number;
}

/** Maximum number of identities in memory. */
const identitiesMaxDefault = 250_000;
const identitiesPerPage = 10_000;

interface Expected {
  readonly identity: ExpectedEvent;
  matched: boolean;
}

export interface FoundOnDay {
  /** Events by name, regardless of which import or live capture stored them. */
  readonly counts: Map<string, number>;
  /** Of these, events stored by another import, by its run; by live capture under an empty name. */
  readonly byOthers: Map<string, number>;
  /** Of `byOthers`, events with other properties than in this run. */
  otherProperties: number;
  /** Of this run's own, events with properties that transformations may have changed. */
  transformed: number;
}

/**
 * Compares a day event by event. Returns how many of each name are stored as expected. Large days are read several times, for another
 * share of the uuids each time.
 */
export async function compareDay(options: CompareDay): Promise<FoundOnDay> {
  const parts = Math.max(1, Math.ceil(options.expected / (options.identitiesMax ?? identitiesMaxDefault)));
  const counts = new Map<string, number>(options.events.map((event) => [event, 0]));
  const found: FoundOnDay = { counts, byOthers: new Map(), otherProperties: 0, transformed: 0 };
  for (let part = 0; part < parts; part += 1) {
    await comparePart(options, (uuid) => partOf(uuid, parts) === part, found);
  }
  return found;
}

/** The last digits of a uuid are random in every version. */
function partOf(uuid: string, parts: number): number {
  return parts === 1 ? 0 : Number.parseInt(uuid.slice(-8), 16) % parts;
}

type InPart = (uuid: string) => boolean;

async function comparePart(options: CompareDay, inPart: InPart, found: FoundOnDay): Promise<void> {
  const { day, differences, mayBeTransformed } = options;
  const count = (event: string): void => void found.counts.set(event, (found.counts.get(event) ?? 0) + 1);
  const suspects: ExpectedEvent[] = [];
  const expected = await expectedByUuid(options, inPart);
  const strays: StoredIdentity[] = [];
  for await (const stored of storedEvents(options, inPart)) {
    const match = expected
      .get(stored.uuid)
      ?.find(({ identity }) => identity.event === stored.event && identity.distinctId === stored.distinctId);
    if (match === undefined) {
      if (stored.runId === options.run.runId) keepStray(options, strays, stored, expected.has(stored.uuid));
      continue;
    }
    match.matched = true;
    const isSameTime = match.identity.timestamp === stored.timestamp;
    const isOwn = stored.runId === options.run.runId;
    if (isOwn && !isSameTime) {
      differences.add(changed(day, match.identity, stored));
      continue;
    }
    const isSameContent = stored.content === undefined || stored.content === match.identity.content;
    if (isOwn && !isSameContent && !mayBeTransformed) {
      suspects.push(match.identity);
      continue;
    }
    count(stored.event);
    if (isOwn) {
      if (!isSameContent) found.transformed += 1;
      continue;
    }
    found.byOthers.set(stored.runId, (found.byOthers.get(stored.runId) ?? 0) + 1);
    if (!isSameContent) found.otherProperties += 1;
    if (!isSameTime) differences.add(earlier(day, match.identity, stored));
  }
  for (const stray of strays) {
    const match = expected.get(stray.uuid)?.find(({ matched }) => !matched);
    if (match === undefined) differences.add(unexpected(day, stray));
    else {
      match.matched = true;
      differences.add(changed(day, match.identity, stray));
    }
  }
  for (const same of expected.values()) {
    for (const { identity, matched } of same) if (!matched) differences.add(missing(day, identity));
  }
  await compareContents(options, suspects, count);
}

/** Keeps an event that may be an expected one with another name or id until all others are known. */
function keepStray(options: CompareDay, strays: StoredIdentity[], stray: StoredIdentity, known: boolean): void {
  if (known) strays.push(stray);
  else options.differences.add(unexpected(options.day, stray));
}

async function expectedByUuid(options: CompareDay, inPart: InPart): Promise<Map<string, Expected[]>> {
  const byUuid = new Map<string, Expected[]>();
  for await (const identity of expectedEvents(options)) {
    if (!inPart(identity.uuid) || options.refused.has(expectedKey(identity))) continue;
    const same = byUuid.get(identity.uuid);
    if (same === undefined) byUuid.set(identity.uuid, [{ identity, matched: false }]);
    else same.push({ identity, matched: false });
  }
  return byUuid;
}

async function* expectedEvents(options: CompareDay): AsyncGenerator<ExpectedEvent> {
  const { store, run, day, events, signal, contents } = options;
  const read = (after: NamedIdentityKey | undefined) =>
    runTableEvents(store, run, { day, events, after }, { limit: identitiesPerPage, contents });
  for await (const page of readStorePages(read, signal)) {
    for (const { event, uuid, distinctId, timestampMicros: timestamp, content } of page) {
      yield { event, uuid, distinctId, timestamp, content: contentText(contents, content) };
    }
  }
}

async function* storedEvents(options: CompareDay, inPart: InPart): AsyncGenerator<StoredIdentity> {
  const { reader, day, events, signal, contents } = options;
  for await (const page of reader.dayEvents(day, events, signal, contents)) {
    for (const identity of page) if (inPart(identity.uuid)) yield identity;
  }
}
