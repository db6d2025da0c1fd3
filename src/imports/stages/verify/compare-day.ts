import type { RunRef, StoreReader } from '../../../stores/events/eventstore.ts';
import type { IdentityKey } from '../../../stores/events/import-reads.ts';
import { runTableEvents, runTableProperties } from '../../../stores/events/run-table-reads.ts';
import { contentText, withoutRunMark, type ContentKind } from '../../checksum.ts';
import type { TargetReader } from '../../target.ts';
import { readStorePages, readStore } from '../../targets/read-store.ts';
import { changed, earlier, missing, unexpected, altered, type Differences, type StoredEvent } from './differences.ts';
import { expectedKey, type ExpectedEvent, type ExpectedIdentity } from './expected.ts';
import { parseExactValues } from '../../../base/exact-json.ts';
import { isObject } from '../../../base/json.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';

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
  const strays: StoredEvent[] = [];
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
function keepStray(options: CompareDay, strays: StoredEvent[], stray: StoredEvent, known: boolean): void {
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
  for (const event of events) {
    const read = (after: IdentityKey | undefined) =>
      runTableEvents(store, run, { day, event, after }, { limit: identitiesPerPage, contents });
    for await (const page of readStorePages(read, signal)) {
      for (const { uuid, distinctId, timestampMicros: timestamp, content } of page) {
        yield { event, uuid, distinctId, timestamp, content: contentText(contents, content) };
      }
    }
  }
}

async function* storedEvents(options: CompareDay, inPart: InPart): AsyncGenerator<StoredEvent> {
  const { reader, day, events, signal, contents } = options;
  for (const event of events) {
    for await (const page of reader.dayEvents(day, event, signal, contents)) {
      for (const identity of page) if (inPart(identity.uuid)) yield { ...identity, event };
    }
  }
}

interface CompareContents {
  /** Has the run's table. */
  readonly store: StoreReader;
  readonly reader: TargetReader;
  readonly run: RunRef;
  readonly day: string;
  readonly differences: Differences;
  readonly signal: AbortSignal;
}

/** Maximum number of events whose properties are read at a time. */
const batchMax = 50;

/**
 * Reads the properties of events whose checksum of contents differs, and compares their values. `onSame` receives the name of an event
 * whose properties differ only in spelling.
 */
async function compareContents(
  options: CompareContents,
  suspects: readonly ExpectedIdentity[],
  onSame: (event: string) => void,
): Promise<void> {
  for (const [event, same] of Map.groupBy(suspects, (identity) => identity.event)) {
    for (let at = 0; at < same.length; at += batchMax) {
      await compareSome(options, event, same.slice(at, at + batchMax), onSame);
    }
  }
}

async function compareSome(
  { store, reader, run, day, differences, signal }: CompareContents,
  event: string,
  batch: readonly ExpectedIdentity[],
  onSame: (event: string) => void,
): Promise<void> {
  const uuids = batch.map(({ uuid }) => uuid);
  const rows = await readStore(() => runTableProperties(store, run, { day, event, uuids }));
  const expected = new Map(rows.map(({ uuid, distinctId, properties }) => [`${uuid} ${distinctId}`, properties]));
  const stored = await reader.dayProperties?.(day, event, uuids, signal);
  for (const identity of batch) {
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

const changesMax = 5;
const valueCharsMax = 120;

/**
 * Returns where two texts of properties differ, one phrase each; empty if they have the same meaning in any order and spelling. Values are
 * named by their path: `order.items[3].price`.
 */
function propertyChanges(expected: string, stored: string): readonly string[] {
  const changes: string[] = [];
  let found: unknown;
  try {
    found = parseExactValues(stored);
  } catch {
    return ['properties that are JSON, stored is something else'];
  }
  compare('', parseExactValues(expected), found, changes);
  if (changes.length <= changesMax) return changes;
  return [...changes.slice(0, changesMax), `${changes.length - changesMax} more values`];
}

function compare(path: string, expected: unknown, stored: unknown, changes: string[]): void {
  if (canonicalJson(expected) === canonicalJson(stored)) return;
  if (Array.isArray(expected) && Array.isArray(stored)) {
    for (let index = 0; index < Math.max(expected.length, stored.length); index += 1) {
      compare(`${path}[${index}]`, expected[index], stored[index], changes);
    }
  } else if (isObject(expected) && isObject(stored)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(stored)])) {
      compare(path === '' ? key : `${path}.${key}`, memberOf(expected, key), memberOf(stored, key), changes);
    }
  } else changes.push(phrase(path, expected, stored));
}

function memberOf(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function phrase(path: string, expected: unknown, stored: unknown): string {
  if (expected === undefined) return `no property ${path}, stored is ${shown(stored)}`;
  const property = `the property ${path} ${shown(expected)}`;
  return stored === undefined ? `${property}, which is not stored` : `${property}, stored is ${shown(stored)}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? '';
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax)}…` : text;
}
