import { isObject } from '../../base/json.ts';
import { skipped } from './event-writer.ts';
import type { Format, RecordReader, RecordResult, RecordTimes } from './format.ts';
import { errorAnswer } from './incomplete.ts';
import { withMap } from './read-by-map.ts';
import type { FoundNote } from './record-notes.ts';
import { objectOfJson, type Json } from './read-values.ts';

/**
 * Adds what applies to all formats: Airbyte envelopes are opened, and error messages of the source among its records are reported
 * as missing data. Both apply only if the format itself cannot read the record.
 */
export function withEnvelopes(format: Format): Format {
  const { times } = format;
  return {
    ...format,
    ...(times && { times: withinEnvelopes(times) }),
    createReader: (options, names, memory) => {
      const read = format.createReader(options, names, memory);
      const opened = openingReader(read);
      return read.map === undefined ? opened : withMap(opened, read.map);
    },
  };
}

function openingReader(read: RecordReader): RecordReader {
  return (record) => {
    const result = read(record);
    if (result.kind !== 'unreadable' || !isObject(record)) return result;
    if (isAirbyteMessage(record)) return skipped('an Airbyte message that is not a record');
    const inner = airbyteRecord(record);
    if (inner !== undefined) return noted(read(inner), { of: 'airbyte_envelope' });
    const error = errorAnswer(record);
    if (error === undefined) return result;
    return noted(skipped('an error message of the source instead of data'), { of: 'error_answer', sample: error });
  };
}

function noted(result: RecordResult, note: FoundNote): RecordResult {
  return { ...result, notes: [...(result.notes ?? []), note] };
}

function withinEnvelopes({ own, received }: RecordTimes): RecordTimes {
  const within = (paths: readonly string[]): readonly string[] => [
    ...paths,
    ...paths.flatMap((path) => [`_airbyte_data.${path}`, `data.${path}`]),
  ];
  return { own: within(own), received: within(received) };
}

/**
 * Returns the record inside an Airbyte envelope: `{_airbyte_data, _airbyte_extracted_at, …}` as destinations write it, also as
 * JSON text, or `{stream, data, emitted_at}` as sources do; `undefined` for other records.
 * https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol
 */
function airbyteRecord(record: Json): Json | undefined {
  const { _airbyte_data: own, type, record: message, stream, data, emitted_at: emittedAt } = record;
  if (own !== undefined) return objectOfJson(own);
  if (type === 'RECORD' && isObject(message)) return airbyteRecord(message);
  return typeof stream === 'string' && emittedAt !== undefined ? objectOfJson(data) : undefined;
}

const messages: ReadonlySet<unknown> = new Set(['CATALOG', 'CONTROL', 'LOG', 'SPEC', 'STATE', 'TRACE']);

/** Whether a record is a message that an Airbyte source writes between records. */
function isAirbyteMessage({ type, ...rest }: Json): boolean {
  return messages.has(type) && isObject(rest[String(type).toLowerCase()]);
}
