import { isObject } from '../../base/json.ts';
import { airbyteRecord, isAirbyteMessage } from './airbyte.ts';
import { skipped } from './event-writer.ts';
import type { Format, RecordReader, RecordResult, RecordTimes } from './format.ts';
import { errorAnswer } from './incomplete.ts';
import { withMap } from './read-by-map.ts';
import type { FoundNote } from './record-notes.ts';

/**
 * A format with what holds for all of them: envelopes of Airbyte are opened, and error messages of the source among its records are
 * noted as what is missing. Both are looked at only where the format itself cannot read the record.
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
    if (isAirbyteMessage(record)) return skipped('a message of Airbyte that is no record');
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
