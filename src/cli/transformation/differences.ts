import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { diffJson, type Difference } from '../../pipeline/transform/diff-json.ts';
import type { TrialEvent } from '../../pipeline/transform/trial-event.ts';
import { CommandError } from '../exit-codes.ts';

const parts = ['uuid', 'event', 'distinct_id', 'timestamp', 'properties'] as const;
const markers = ['$plugins_succeeded', '$plugins_failed'] as const;

/**
 * What would have to change in the event to be the expected one; empty: it is. Parts that are not expected are not compared,
 * so that a sample needs no uuid; properties are compared as a whole, without the labels of the configs that ran unless
 * those are expected. Null: dropped. Errors: CommandError usage when `expected` is no event.
 */
export function differences(expected: JsonValue, after: TrialEvent | null): Difference[] {
  if (expected === null || after === null) return diffJson(after as JsonObject | null, expected);
  const wanted = readExpected(expected);
  const actual: JsonObject = {};
  for (const part of parts) if (Object.hasOwn(wanted, part)) actual[part] = after[part];
  const time = wanted['timestamp'];
  // The same moment may be written in several ways.
  if (typeof time === 'string' && Date.parse(time) === Date.parse(after.timestamp)) actual['timestamp'] = time;
  const { properties } = wanted;
  if (isObject(properties)) actual['properties'] = withoutUnexpected(after.properties, properties);
  return diffJson(actual, wanted);
}

function withoutUnexpected(properties: JsonObject, expected: JsonObject): JsonObject {
  const kept = { ...properties };
  for (const marker of markers) if (!Object.hasOwn(expected, marker)) delete kept[marker];
  return kept;
}

function readExpected(expected: JsonValue): JsonObject {
  if (!isObject(expected)) {
    throw new CommandError('usage', `--expect: expected an event or null (dropped), got: ${shown(expected)}`);
  }
  const unknown = Object.keys(expected).filter((key) => !(parts as readonly string[]).includes(key));
  if (unknown.length === 0) return expected;
  const known = `only ${parts.join(', ')} are compared`;
  throw new CommandError('usage', `--expect: ${known}; take ${unknown.join(', ')} out, or put it into the properties`);
}

function shown(value: JsonValue): string {
  return JSON.stringify(value).slice(0, 60);
}
