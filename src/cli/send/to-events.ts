import { parseExactValues } from '../../base/exact-json.ts';
import { derivedId } from '../../base/ids.ts';
import { isObject } from '../../base/json.ts';
import { createOccurrences } from '../../imports/formats/occurrences.ts';
import type { Format } from '../../imports/formats/format.ts';
import { findFormat, formats } from '../../imports/formats/registry.ts';
import { repeatedMessage } from '../../imports/formats/segment/map.ts';
import { CommandError } from '../exit-codes.ts';
import { createFormatReader, namesIn, type FormatArguments } from '../format-reader.ts';
import { pairsOf } from '../read-arguments.ts';
import type { RawRecord } from './open-input.ts';

/** An event to send, with its record. */
export interface OutgoingEvent {
  /** JSON of the event in the batch. */
  readonly json: string;
  readonly bytes: number;
  readonly source: RawRecord;
}

export type Converted =
  /** In order; a record may become several events. */
  | { readonly kind: 'events'; readonly events: readonly OutgoingEvent[] }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** `events` need no conversion; every other source has a format. */
export const sourceFormats: readonly string[] = ['events', ...formats.map(({ slug }) => slug)];

export interface ConverterArguments extends FormatArguments {
  /** One of sourceFormats. */
  readonly from: string;
  readonly duplicates: 'keep' | 'drop';
}

/**
 * Creates a converter of records that gives the same events each time the same file is sent. Errors: usage, before anything is read or
 * sent.
 */
export function createConverter(given: ConverterArguments): (source: RawRecord) => Converted {
  const format = findFormat(given.from);
  const convert = format === undefined ? eventConverter(given) : formatConverter(format, given);
  return (source) => {
    if (source.fault !== undefined) return { kind: 'unreadable', reason: source.fault };
    let parsed: unknown;
    try {
      parsed = parseExactValues(source.text);
    } catch (error) {
      return { kind: 'unreadable', reason: `not JSON: ${(error as Error).message}` };
    }
    const result = convert(parsed, source.text);
    if (result.kind !== 'json') return result;
    return { kind: 'events', events: result.json.map((json) => ({ json, bytes: Buffer.byteLength(json), source })) };
  };
}

type RecordConverter = (
  parsed: unknown,
  text: string,
) => Exclude<Converted, { kind: 'events' }> | { readonly kind: 'json'; readonly json: readonly string[] };

function formatConverter(format: Format, given: ConverterArguments): RecordConverter {
  const takesDuplicates = format.options.some(({ key }) => key === 'duplicates');
  const options = {
    ...(takesDuplicates && { duplicates: given.duplicates }),
    ...pairsOf('--format-option', given.formatOption ?? []),
  };
  const read = createFormatReader(format, options, namesIn(given));
  return (parsed) => {
    const result = read(parsed);
    if (result.kind === 'events') return { kind: 'json', json: result.events.map((event) => JSON.stringify(event)) };
    return result.kind === 'skipped' && result.reason === repeatedMessage ? { kind: 'duplicate' } : result;
  };
}

/**
 * Sends events unchanged, byte for byte. An event without a uuid gets one derived from its text and occurrence in the file; otherwise a lost
 * response would store it twice.
 */
function eventConverter({ from, formatOption = [], names }: ConverterArguments): RecordConverter {
  if (formatOption.length > 0 || names !== undefined) {
    const message = `${from} are sent unchanged; choose a format with --from to use --format-option or --names`;
    throw new CommandError('usage', message);
  }
  const occurrences = createOccurrences();
  return (parsed, text) => {
    if (!isObject(parsed)) {
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
