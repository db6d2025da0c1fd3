import { isStorableTime, isTooFarAhead } from '../wire/batch/event-time.ts';
import { eventFlag, span, spanStride, type ScannedBatch } from '../wire/batch/scanned-batch.ts';
import { plainText } from '../wire/batch/spans.ts';
import { dayMicros, parseIsoBytes } from '../wire/batch/timestamps.ts';
import type { EventRowWriter } from '../stores/events/rows.ts';
import type { RecordContext } from './event-draft.ts';
import { distinctIdCharsMax } from '../wire/batch/limits.ts';
import { notEventNames } from '../wire/batch/not-events.ts';
import { changesPerson } from './spliced-person.ts';
import { profileEvents, withoutPersonChanges } from '../wire/contract/profile-events.ts';

/**
 * The fast path: an event whose properties are not needed is copied into its row as received, without an object. All others take
 * the path of drafts, and both produce the same row.
 */

/** Names with an effect beyond being stored. Other `$` names ($pageview, $autocapture) are plain events. */
const withEffect = new Set([...profileEvents, ...notEventNames]);

const quote = 0x22;
const backslash = 0x5c;
const dash = 0x2d;
const openObject = 0x7b;
const noBytes = new Uint8Array(0);

/** Splices the rows of one record. */
export interface Splicer {
  /** Whether the event can take the fast path. The other functions are for those that can. */
  accepts(index: number): boolean;
  distinctId(index: number): string;
  write(writer: EventRowWriter, index: number): void;
  /** Times of the accepted events, µs since the epoch. */
  readonly micros: Float64Array;
}

export function createSplicer(context: RecordContext, scan: ScannedBatch): Splicer {
  const { json, spans } = scan;
  const { ip } = context;
  const ipPrefix = ip === undefined ? noBytes : Buffer.from(`"$ip":${JSON.stringify(ip)},`);
  const micros = new Float64Array(scan.count);
  const keyDays = new Int32Array(scan.count);
  const shiftMicros =
    context.lane === 'live' && context.sentAt !== undefined ? (context.receivedAt - context.sentAt) * 1000 : 0;
  const row = {
    projectId: context.projectId,
    historical: context.lane === 'historical',
    receivedAtMicros: context.receivedAt * 1000,
    timestampMicros: 0,
    keyDay: 0,
    json,
    uuidFrom: 0,
    eventFrom: 0,
    eventTo: 0,
    idFrom: 0,
    idTo: 0,
    propsFrom: 0,
    propsTo: 0,
    propsPrefix: noBytes as Uint8Array,
  };
  const at = (index: number, field: number): number => spans[index * spanStride + field] as number;
  const needsIp = (flags: number): boolean => ip !== undefined && (flags & eventFlag.hasIp) === 0;
  /** Does what resolveTimestamp does in the plain case; returns false in all others. */
  const readTime = (index: number): boolean => {
    const from = at(index, span.timestamp);
    if (from < 0 || json[from] !== quote) return false;
    const own = parseIsoBytes(json, from, at(index, span.timestamp + 1));
    if (own === undefined || !isStorableTime(own)) return false;
    const time = own + shiftMicros;
    if (context.lane === 'live' && (isTooFarAhead(time, context.receivedAt) || !isStorableTime(time))) return false;
    micros[index] = time;
    keyDays[index] = Math.floor(own / dayMicros);
    return true;
  };

  return {
    micros,
    accepts: (index) => {
      const flags = at(index, span.flags);
      if ((flags & eventFlag.special) !== 0) return false;
      if (at(index, span.offset) >= 0 || at(index, span.set) >= 0 || at(index, span.setOnce) >= 0) return false;
      if (needsIp(flags) && (flags & eventFlag.emptyProperties) !== 0) return false;
      return hasPlainFields(scan, index, flags) && readTime(index);
    },
    distinctId: (index) => plainText(json, at(index, span.distinctId) + 1, at(index, span.distinctId + 1) - 1),
    write: (writer, index) => {
      row.timestampMicros = micros[index] as number;
      row.keyDay = keyDays[index] as number;
      row.uuidFrom = at(index, span.uuid) + 1;
      row.eventFrom = at(index, span.name) + 1;
      row.eventTo = at(index, span.name + 1) - 1;
      row.idFrom = at(index, span.distinctId) + 1;
      row.idTo = at(index, span.distinctId + 1) - 1;
      row.propsFrom = at(index, span.properties);
      row.propsTo = at(index, span.properties + 1);
      row.propsPrefix = needsIp(at(index, span.flags)) ? ipPrefix : noBytes;
      writer.splice(row);
    },
  };
}

/** Returns whether name, id and uuid are strings without escapes, within their limits, and properties is an object. The event is valid. */
function hasPlainFields(scan: ScannedBatch, index: number, flags: number): boolean {
  const { json, spans } = scan;
  const base = index * spanStride;
  const props = spans[base + span.properties] as number;
  if (props < 0 || json[props] !== openObject) return false;
  const uuid = spans[base + span.uuid] as number;
  if (uuid < 0 || (spans[base + span.uuid + 1] as number) - uuid !== 38 || json[uuid] !== quote) return false;
  // A UUID has several spellings of 36 characters; only the one with dashes is plain.
  if (json[uuid + 9] !== dash) return false;
  const id = spans[base + span.distinctId] as number;
  const idTo = spans[base + span.distinctId + 1] as number;
  if (json[id] !== quote || idTo - id - 2 > distinctIdCharsMax || !isPlain(json, id + 1, idTo - 1)) return false;
  const name = spans[base + span.name] as number;
  const nameTo = spans[base + span.name + 1] as number;
  if (!isPlain(json, name + 1, nameTo - 1)) return false;
  if ((flags & eventFlag.dollarName) === 0) return true;
  const text = plainText(json, name + 1, nameTo - 1);
  return !withEffect.has(text) && !(withoutPersonChanges.has(text) && changesPerson(scan, index));
}

function isPlain(json: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (json[at] === backslash) return false;
  return true;
}
