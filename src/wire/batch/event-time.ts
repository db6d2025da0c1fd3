import type { WarningType } from '../contract/warnings.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { ScannedBatch } from './scanned-batch.ts';
import { fieldFrom, fieldTo, isNullAt, isNumberAt, isStringAt, stringAt } from './spans.ts';
import { dayOfDate, dayMicros, epochMicros, parseIsoBytes, parseTimestamp } from './timestamps.ts';

/** Store and protocol support the years 1900 to 2299; µs since the epoch. */
const earliestMicros = (dayOfDate(1900, 1, 1) as number) * dayMicros;
const endMicros = (dayOfDate(2300, 1, 1) as number) * dayMicros;
/** How far a time may be ahead of the receipt. It admits clocks set to a wrong time zone; more is an error. */
const aheadMicros = 23 * 3600 * 1_000_000;

/** Minimum difference between sent_at and receipt for which a correction is reported. */
const skewReportedMs = 30_000;

export function isSkewReported({ sentAt, receivedAt }: Pick<TimeQuestion, 'sentAt' | 'receivedAt'>): boolean {
  return sentAt !== undefined && Math.abs(receivedAt - sentAt) > skewReportedMs;
}

export function isStorableTime(micros: number): boolean {
  return micros >= earliestMicros && micros < endMicros;
}

/** `receivedAt` in ms since the epoch. */
export function isTooFarAhead(micros: number, receivedAt: number): boolean {
  return micros > latestMicros(receivedAt);
}

/** Returns the latest time that is not too far ahead, in µs. */
export function latestMicros(receivedAt: number): number {
  return receivedAt * 1000 + aheadMicros;
}

/** Returns the client's timestamp in µs since the epoch, or `unreadable` if it is not a time. */
export function ownTime(scan: ScannedBatch, index: number): number | 'unreadable' | undefined {
  const from = fieldFrom(scan, index, 'timestamp');
  if (from < 0 || isNullAt(scan.json, from)) return undefined;
  const to = fieldTo(scan, index, 'timestamp');
  if (isStringAt(scan.json, from)) {
    return parseIsoBytes(scan.json, from, to) ?? parseTimestamp(stringAt(scan.json, from, to)) ?? 'unreadable';
  }
  if (isNumberAt(scan.json, from)) return epochMicros(Number(scan.json.toString('latin1', from, to))) ?? 'unreadable';
  return 'unreadable';
}

export interface TimeQuestion {
  readonly lane: Lane;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** When the client claims to have sent the body, ms since the epoch. */
  readonly sentAt?: number | undefined;
  /** The event's own timestamp: its text, or the result of `ownTime`. */
  readonly timestamp: string | number | 'unreadable' | undefined;
  /** How long before sending the event happened, in ms. Live lane only. */
  readonly offset?: number | undefined;
  /** `properties.$ignore_sent_at`: do not correct the client's clock. */
  readonly ignoreSentAt?: boolean | undefined;
  /** The event's uuid. Version 7 contains its time of creation. */
  readonly uuid?: string | undefined;
}

export interface EventTime {
  /** Time of the event, µs since the epoch. */
  readonly micros: number;
  readonly warning: WarningType | undefined;
  /**
   * Time for the event's identity, in µs since the epoch: what the client sent. A retried body is corrected by another clock
   * difference but must result in the same event.
   */
  readonly keyMicros: number;
}

/**
 * Decides when an event happened. Live: the client's time corrected by its clock difference; if that is unreadable or in the
 * future, the time of receipt with a warning. Historical: the exact time of the source.
 */
export function resolveTimestamp(question: TimeQuestion): EventTime {
  const arrival = question.receivedAt * 1000;
  const own = ownMicros(question.timestamp);
  const known = own !== undefined && own !== 'unreadable' && isStorableTime(own) ? own : undefined;
  const { micros, warning } =
    question.lane === 'historical' ? historicalTime(own, known, arrival) : liveTime(question, own, known, arrival);
  return { micros, warning, keyMicros: known ?? uuidMicros(question.uuid) ?? micros };
}

type Resolved = Pick<EventTime, 'micros' | 'warning'>;

function ownMicros(timestamp: TimeQuestion['timestamp']): number | 'unreadable' | undefined {
  if (typeof timestamp !== 'string') return timestamp;
  return timestamp === 'unreadable' ? timestamp : (parseTimestamp(timestamp) ?? 'unreadable');
}

function historicalTime(own: number | 'unreadable' | undefined, known: number | undefined, arrival: number): Resolved {
  if (known !== undefined) return { micros: known, warning: undefined };
  // Capture refuses unreadable times; this covers events that reach the pipeline another way.
  return { micros: arrival, warning: own === undefined ? 'historical_timestamp_missing' : 'ignored_invalid_timestamp' };
}

function liveTime(
  question: TimeQuestion,
  own: number | 'unreadable' | undefined,
  known: number | undefined,
  arrival: number,
): Resolved {
  const { offset, sentAt } = question;
  let micros: number;
  let isReported = false;
  if (offset !== undefined) micros = Math.round(arrival - offset * 1000);
  else if (known !== undefined) {
    const corrected = sentAt !== undefined && question.ignoreSentAt !== true;
    micros = corrected ? known + arrival - sentAt * 1000 : known;
    isReported = corrected && isSkewReported(question);
  } else return { micros: arrival, warning: own === undefined ? undefined : 'ignored_invalid_timestamp' };
  if (isTooFarAhead(micros, question.receivedAt)) return { micros: arrival, warning: 'event_timestamp_in_future' };
  if (!isStorableTime(micros)) return { micros: arrival, warning: 'ignored_invalid_timestamp' };
  return { micros, warning: isReported ? 'clock_skew_corrected' : undefined };
}

/** Returns the time in a version 7 UUID, in µs since the epoch. */
function uuidMicros(uuid: string | undefined): number | undefined {
  if (uuid === undefined || uuid[14] !== '7') return undefined;
  const micros = Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) * 1000;
  return isStorableTime(micros) ? micros : undefined;
}
