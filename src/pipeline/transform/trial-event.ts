import { isoMicros } from '../../base/clock.ts';
import { newId } from '../../base/ids.ts';
import { canonicalUuid } from '../../base/uuids.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';

/** An event as a trial accepts and shows it. */
export type TrialEvent = {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  /** ISO 8601 UTC with microseconds. */
  readonly timestamp: string;
  readonly properties: JsonObject;
};

/** The input is not an event; the message states what was expected and what was received. */
export class TrialEventError extends Error {
  override name = 'TrialEventError';
}

const exactTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/**
 * Converts an event, as clients send it or as the API shows it, to what transformations would see. Only the name and the
 * distinct_id are required; top-level `$set`, `$set_once` and `ip` move into the properties. `now` in ms.
 *
 * @throws TrialEventError
 */
export function readTrialEvent(given: JsonValue | undefined, now: number): TrialEvent {
  if (!isObject(given)) throw expected('an event: a JSON object', given);
  const properties = readProperties(given);
  const { event } = given;
  if (typeof event !== 'string' || event === '') throw expected('a text "event", the name', event);
  const id = given['distinct_id'] ?? properties['distinct_id'];
  const distinctId = typeof id === 'number' ? String(id) : id;
  if (typeof distinctId !== 'string' || distinctId.trim() === '') throw expected('a text "distinct_id"', id);
  return {
    uuid: readUuid(given['uuid'] ?? given['id']),
    event,
    distinct_id: distinctId,
    timestamp: readTime(given['timestamp'], now),
    properties,
  };
}

/** Removes the markers of configs that ran, which are not a change of the event. */
export function withoutMarkers(event: TrialEvent): TrialEvent {
  const { $plugins_succeeded: _succeeded, $plugins_failed: _failed, ...properties } = event.properties;
  return { ...event, properties };
}

function readProperties(given: JsonObject): JsonObject {
  const { properties: own = null, ip = null } = given;
  if (own !== null && !isObject(own)) throw expected('an object "properties"', own);
  const properties: JsonObject = { ...own };
  for (const key of ['$set', '$set_once']) {
    const top = given[key] ?? null;
    if (top === null) continue;
    if (!isObject(top)) throw expected(`an object "${key}"`, top);
    const inner = properties[key];
    properties[key] = isObject(inner) ? { ...inner, ...top } : top;
  }
  if (typeof ip === 'string' && !Object.hasOwn(properties, '$ip')) properties['$ip'] = ip;
  return properties;
}

function readUuid(given: JsonValue | undefined): string {
  if (given === undefined || given === null) return newId();
  const uuid = canonicalUuid(given);
  if (uuid === undefined) throw expected('a "uuid" such as 0190a6b3-6f1e-7c3c-9f6b-3d6c5a0f7a11', given);
  return uuid;
}

function readTime(given: JsonValue | undefined, now: number): string {
  if (given === undefined || given === null) return isoMicros(now);
  if (typeof given === 'string' && exactTime.test(given) && !Number.isNaN(Date.parse(given))) return given;
  const ms = typeof given === 'string' ? Date.parse(given) : NaN;
  if (Number.isNaN(ms)) throw expected('an ISO 8601 "timestamp"', given);
  return isoMicros(ms);
}

function expected(what: string, got: unknown): TrialEventError {
  const shown = got === undefined ? 'none' : JSON.stringify(got).slice(0, 60);
  return new TrialEventError(`expected ${what}, got: ${shown}`);
}
