import type { WarningType } from '../contract/warnings.ts';
import type { Lane } from '../../log/eventlog.ts';
import type { ScannedBatch } from './scanned-batch.ts';
import { fieldFrom, fieldTo, isNullAt, isNumberAt, isStringAt, stringAt } from './spans.ts';
import { dayOfDate, dayMicros, epochMicros, parseIsoBytes, parseTimestamp } from './timestamps.ts';

/** Store and protocol know the years 1900 to 2299; µs since the epoch. */
const earliestMicros = (dayOfDate(1900, 1, 1) as number) * dayMicros;
const endMicros = (dayOfDate(2300, 1, 1) as number) * dayMicros;
/** How far ahead of the arrival a time may lie: clocks set to the wrong zone stay, the rest is an error. */
const aheadMicros = 23 * 3600 * 1_000_000;

/** How far sent_at and arrival have to be apart for a correction by it to be reported, ms. */
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

/** The latest time that is not too far ahead, µs. */
export function latestMicros(receivedAt: number): number {
  return receivedAt * 1000 + aheadMicros;
}

/** The timestamp as the client sent it, µs since the epoch; `unreadable`: there is one, but it is no time. */
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
  /** Arrival, ms since the epoch. */
  readonly receivedAt: number;
  /** When the client says that it sent the body, ms since the epoch. */
  readonly sentAt?: number | undefined;
  /** The event's own timestamp: its text, or what `ownTime` made of it. */
  readonly timestamp: string | number | 'unreadable' | undefined;
  /** How long before sending the event happened, ms. Live lane only. */
  readonly offset?: number | undefined;
  /** `properties.$ignore_sent_at`: do not correct the client's clock. */
  readonly ignoreSentAt?: boolean | undefined;
  /** The event's uuid; a version 7 one tells when it was made. */
  readonly uuid?: string | undefined;
}

export interface EventTime {
  /** Time of the event, µs since the epoch. */
  readonly micros: number;
  readonly warning: WarningType | undefined;
  /**
   * Time for the event's identity, µs since the epoch: what the client itself said. A body that is sent again is
   * corrected by another clock difference, but must make the same event.
   */
  readonly keyMicros: number;
}

/**
 * When an event happened. Live: the client's time, corrected by how far its clock is off; never in the future, never
 * unreadable (the arrival stands, with a warning). Historical: the source's time exactly.
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
  // Unreadable ones are refused at ingest; this answer is for events that reach the pipeline another way.
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

/** The time inside a version 7 UUID, µs since the epoch. */
function uuidMicros(uuid: string | undefined): number | undefined {
  if (uuid === undefined || uuid[14] !== '7') return undefined;
  const micros = Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) * 1000;
  return isStorableTime(micros) ? micros : undefined;
}
