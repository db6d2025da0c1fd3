import { derivedId } from '../../base/ids.ts';
import { FormatOptionsError, type Format, type FormatOptions, type NameTable } from '../../imports/formats/format.ts';
import { createOccurrences } from '../../imports/formats/occurrences.ts';
import { findFormat, formats } from '../../imports/formats/registry.ts';
import { repeatedMessage } from '../../imports/formats/segment/segment.ts';
import type { RawRecord } from './split-records.ts';

/** One event on its way, with what it came from. */
export interface OutgoingEvent {
  /** The event's JSON as it goes into the batch. */
  readonly json: string;
  readonly bytes: number;
  readonly source: RawRecord;
}

export type Converted =
  /** In order; one record may make several events. */
  | { readonly kind: 'events'; readonly events: readonly OutgoingEvent[] }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly source: RawRecord; readonly reason: string };

/** `events` are events already; every other source has a format. */
export const sourceFormats: readonly string[] = ['events', ...formats.map(({ slug }) => slug)];

export interface ConverterOptions {
  readonly duplicates: 'keep' | 'drop';
  readonly options?: FormatOptions;
  readonly names?: NameTable | undefined;
}

/**
 * Turns one record after the other into events that a repetition of the same file turns into exactly the same. `from` is one
 * of sourceFormats. Throws FormatOptionsError.
 */
export function createConverter(from: string, options: ConverterOptions): (source: RawRecord) => Converted {
  const format = findFormat(from);
  const convert = format === undefined ? eventConverter(from, options) : formatConverter(format, options);
  return (source) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(source.text);
    } catch (error) {
      return { kind: 'unreadable', source, reason: `not JSON: ${(error as Error).message}` };
    }
    const result = convert(parsed, source.text);
    if (result.kind === 'json') return { kind: 'events', events: result.json.map((json) => outgoing(json, source)) };
    return result.kind === 'unreadable' ? { ...result, source } : result;
  };
}

type RecordConverter = (
  parsed: unknown,
  text: string,
) =>
  | { readonly kind: 'json'; readonly json: readonly string[] }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

function formatConverter(format: Format, { duplicates, options = {}, names }: ConverterOptions): RecordConverter {
  const takesDuplicates = format.options.some(({ key }) => key === 'duplicates');
  const given = takesDuplicates ? { duplicates, ...options } : options;
  const read = format.createReader(given, names ?? format.names);
  return (parsed) => {
    const result = read(parsed);
    if (result.kind === 'events') return { kind: 'json', json: result.events.map((event) => JSON.stringify(event)) };
    return result.kind === 'skipped' && result.reason === repeatedMessage ? { kind: 'duplicate' } : result;
  };
}

/**
 * Events go out as they stand, byte for byte. One without a uuid gets one that follows from its text and its occurrence
 * in the file: otherwise an answer lost on the way would store it twice.
 */
function eventConverter(from: string, { options = {}, names }: ConverterOptions): RecordConverter {
  if (Object.keys(options).length > 0 || names !== undefined) {
    throw new FormatOptionsError(`${from} are sent as they stand: expected a format for options or names, see --from`);
  }
  const occurrences = createOccurrences();
  return (parsed, text) => {
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      return { kind: 'unreadable', reason: 'expected a JSON object' };
    }
    const { uuid } = parsed as { uuid?: unknown };
    if (uuid !== undefined && uuid !== null && uuid !== '') return { kind: 'json', json: [text] };
    const first = derivedId('event-content', text);
    const occurrence = occurrences.next(first);
    const derived = occurrence === 1 ? first : derivedId('event-content', text, String(occurrence));
    if ('uuid' in parsed) return { kind: 'json', json: [JSON.stringify({ ...parsed, uuid: derived })] };
    const members = text.slice(text.indexOf('{') + 1).trimStart();
    return { kind: 'json', json: [`{"uuid":"${derived}"${members === '}' ? '' : ','}${members}`] };
  };
}

function outgoing(json: string, source: RawRecord): OutgoingEvent {
  return { json, bytes: Buffer.byteLength(json), source };
}
