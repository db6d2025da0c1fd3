import { ownTime, resolveTimestamp } from '../wire/batch/event-time.ts';
import { eventFlag, span, spanStride, type ScannedBatch } from '../wire/batch/scanned-batch.ts';
import {
  distinctIdText,
  fieldFrom,
  fieldTo,
  isNullAt,
  isObjectAt,
  isStringAt,
  stringAt,
  textAt,
} from '../wire/batch/spans.ts';
import type { WarningOccurrence } from '../wire/contract/warnings.ts';
import { isObject, type JsonObject, type JsonValue } from '../base/json.ts';
import type { EventDraft, RecordContext } from './event-draft.ts';
import { canonicalUuid } from '../base/uuids.ts';
import { assignUuid } from './steps/assign-uuid.ts';
import { storedId } from '../wire/batch/stored-id.ts';

export type Parse = (text: string) => JsonValue;

/** Represents properties that have not been parsed: only their text exists. */
export const unread: JsonObject = Object.freeze({});

/**
 * Reads a valid event into an object: its fields, time, uuid, `$ip`, and `$set`/`$set_once` inside the properties.
 *
 * @param parse keeps every digit, unless the caller calculates with the values
 */
export function readEvent(
  context: RecordContext,
  scan: ScannedBatch,
  index: number,
  parse: Parse,
  isTextEnough = false,
): EventDraft {
  const warnings: WarningOccurrence[] = [];
  const plain = isTextEnough ? plainText(context, scan, index) : undefined;
  const { properties, text } =
    plain === undefined ? readProperties(context, scan, index, parse) : { properties: unread, text: plain };
  const givenUuid = canonicalUuid(readText(scan, index, 'uuid'));
  const time = resolveTimestamp({
    lane: context.lane,
    receivedAt: context.receivedAt,
    sentAt: context.sentAt,
    timestamp: ownTime(scan, index),
    offset: readOffset(scan, index),
    ignoreSentAt: properties['$ignore_sent_at'] === true,
    uuid: givenUuid,
  });
  const uuid = givenUuid ?? assignUuid(context, scan, index, time.micros);
  const fullId = distinctIdText(scan.json, fieldFrom(scan, index, 'distinctId'), fieldTo(scan, index, 'distinctId'));
  const distinctId = storedId(fullId);
  if (time.warning !== undefined) {
    const details = { eventUuid: uuid, distinctId, timestamp: readRaw(scan, index, 'timestamp') };
    warnings.push({ type: time.warning, details });
  }
  if (distinctId.length < fullId.length) {
    warnings.push({ type: 'distinct_id_truncated', details: { eventUuid: uuid, distinctId, length: fullId.length } });
  }
  return {
    kind: 'draft',
    index,
    projectId: context.projectId,
    uuid,
    event: readText(scan, index, 'name'),
    distinctId,
    micros: time.micros,
    keyMicros: time.keyMicros,
    properties,
    propertiesText: text,
    warnings,
    inChain: null,
    person: null,
    groups: null,
  };
}

type Field = Parameters<typeof fieldFrom>[2];

function readText(scan: ScannedBatch, index: number, field: Field): string {
  const from = fieldFrom(scan, index, field);
  return from >= 0 && isStringAt(scan.json, from) ? stringAt(scan.json, from, fieldTo(scan, index, field)) : '';
}

/** Returns at most 60 characters of what was sent, for a warning; strings without their quotes. */
function readRaw(scan: ScannedBatch, index: number, field: Field): string | null {
  const from = fieldFrom(scan, index, field);
  if (from < 0) return null;
  const readAs = isStringAt(scan.json, from) ? stringAt : textAt;
  return readAs(scan.json, from, fieldTo(scan, index, field)).slice(0, 60);
}

function readOffset(scan: ScannedBatch, index: number): number | undefined {
  const from = fieldFrom(scan, index, 'offset');
  if (from < 0 || isNullAt(scan.json, from)) return undefined;
  const offset = Number(textAt(scan.json, from, fieldTo(scan, index, 'offset')));
  return Number.isFinite(offset) ? offset : undefined;
}

function readObject(scan: ScannedBatch, index: number, field: Field, parse: Parse): JsonObject | null {
  const from = fieldFrom(scan, index, field);
  if (from < 0 || !isObjectAt(scan.json, from)) return null;
  return parse(textAt(scan.json, from, fieldTo(scan, index, field))) as JsonObject;
}

/** Returns the text of the properties with `$ip`; undefined when the properties have to be parsed. */
function plainText(context: RecordContext, scan: ScannedBatch, index: number): string | undefined {
  const base = index * spanStride;
  const flags = scan.spans[base + span.flags] as number;
  const hasSet = (scan.spans[base + span.set] as number) >= 0 || (scan.spans[base + span.setOnce] as number) >= 0;
  if ((flags & eventFlag.special) !== 0 || hasSet) return undefined;
  const from = fieldFrom(scan, index, 'properties');
  // A valid value other than an object counts as an empty object.
  const isEmpty = (flags & eventFlag.emptyProperties) !== 0 || !isObjectAt(scan.json, from);
  const text = isEmpty ? '{}' : textAt(scan.json, from, fieldTo(scan, index, 'properties'));
  if (context.ip === undefined || (flags & eventFlag.hasIp) !== 0) return text;
  return withIp(text, context.ip, isEmpty);
}

function withIp(text: string, ip: string, isEmpty: boolean): string {
  const member = `"$ip":${JSON.stringify(ip)}`;
  return isEmpty ? `{${member}}` : `{${member},${text.slice(1)}`;
}

/**
 * Reads the properties as they are stored. `$sent_at` is not added: it differs between deliveries of an event, and an event that is
 * sent again must stay the same.
 */
function readProperties(
  context: RecordContext,
  scan: ScannedBatch,
  index: number,
  parse: Parse,
): { properties: JsonObject; text: string | null } {
  const from = fieldFrom(scan, index, 'properties');
  const isPresent = from >= 0 && isObjectAt(scan.json, from);
  let text = isPresent ? textAt(scan.json, from, fieldTo(scan, index, 'properties')) : '{}';
  const properties = parse(text) as JsonObject;
  if (context.ip !== undefined && !Object.hasOwn(properties, '$ip')) {
    text = withIp(text, context.ip, Object.keys(properties).length === 0);
    properties['$ip'] = context.ip;
  }
  const set = mergeTopLevel(properties, '$set', readObject(scan, index, 'set', parse));
  const setOnce = mergeTopLevel(properties, '$set_once', readObject(scan, index, 'setOnce', parse));
  return { properties, text: set || setOnce ? null : text };
}

/** Merges a top-level `$set` into the properties, where it is stored. Clients may send either; the top-level one wins. */
function mergeTopLevel(properties: JsonObject, key: '$set' | '$set_once', top: JsonObject | null): boolean {
  if (top === null) return false;
  const own: JsonValue | undefined = properties[key];
  properties[key] = isObject(own) ? { ...own, ...top } : top;
  return true;
}
