import { derivedId } from '../../base/ids.ts';
import { createOccurrences } from '../../formats/occurrences.ts';
import { createSegmentReader } from '../../formats/segment.ts';
import type { RawRecord } from './split-records.ts';

/** One event on its way, with what it came from. */
export interface OutgoingEvent {
  /** The event's JSON as it goes into the batch. */
  readonly json: string;
  readonly bytes: number;
  readonly source: RawRecord;
}

export type Converted =
  | { readonly kind: 'event'; readonly event: OutgoingEvent }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'unreadable'; readonly source: RawRecord; readonly reason: string };

export const sourceFormats = ['events', 'segment'] as const;
export type SourceFormat = (typeof sourceFormats)[number];

/** Turns one record after the other into an event that a repetition of the same file turns into exactly the same. */
export function createConverter(format: SourceFormat, duplicates: 'keep' | 'drop'): (source: RawRecord) => Converted {
  const convert = format === 'segment' ? segmentConverter(duplicates) : eventConverter();
  return (source) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(source.text);
    } catch (error) {
      return { kind: 'unreadable', source, reason: `not JSON: ${(error as Error).message}` };
    }
    const result = convert(parsed, source.text);
    if (result.kind === 'json') return { kind: 'event', event: outgoing(result.json, source) };
    return result.kind === 'duplicate' ? result : { ...result, source };
  };
}

type FormatConverter = (
  parsed: unknown,
  text: string,
) => { kind: 'json'; json: string } | { kind: 'duplicate' } | { kind: 'unreadable'; reason: string };

function segmentConverter(duplicates: 'keep' | 'drop'): FormatConverter {
  const read = createSegmentReader(duplicates);
  return (parsed) => {
    const result = read(parsed);
    return result.kind === 'event' ? { kind: 'json', json: JSON.stringify(result.event) } : result;
  };
}

/**
 * Events go out as they stand, byte for byte. One without a uuid gets one that follows from its text and its occurrence
 * in the file: otherwise an answer lost on the way would store it twice.
 */
function eventConverter(): FormatConverter {
  const occurrences = createOccurrences();
  return (parsed, text) => {
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      return { kind: 'unreadable', reason: 'expected a JSON object' };
    }
    const { uuid } = parsed as { uuid?: unknown };
    if (uuid !== undefined && uuid !== null && uuid !== '') return { kind: 'json', json: text };
    const first = derivedId('event-content', text);
    const occurrence = occurrences.next(first);
    const derived = occurrence === 1 ? first : derivedId('event-content', text, String(occurrence));
    if ('uuid' in parsed) return { kind: 'json', json: JSON.stringify({ ...parsed, uuid: derived }) };
    const members = text.slice(text.indexOf('{') + 1).trimStart();
    return { kind: 'json', json: `{"uuid":"${derived}"${members === '}' ? '' : ','}${members}` };
  };
}

function outgoing(json: string, source: RawRecord): OutgoingEvent {
  return { json, bytes: Buffer.byteLength(json), source };
}
