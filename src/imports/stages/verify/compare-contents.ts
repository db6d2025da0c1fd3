import { canonicalJson } from '../../../base/canonical-json.ts';
import { parseExactValues } from '../../../base/exact-json.ts';
import { isObject } from '../../../base/json.ts';
import type { RunRef, StoreReader } from '../../../stores/events/eventstore.ts';
import { runTableProperties } from '../../../stores/events/run-table-reads.ts';
import { withoutRunMark } from '../../checksum.ts';
import type { TargetReader } from '../../target.ts';
import { readStore } from '../../targets/read-store.ts';
import { altered, type Differences } from './differences.ts';
import type { ExpectedIdentity } from './expected.ts';

export interface CompareContents {
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
export async function compareContents(
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
