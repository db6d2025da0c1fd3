import { createEventWriter, type EventWriter } from './event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader, RecordResult } from './format.ts';
import { createMapReader, withMap, type MapReader } from './read-by-map.ts';
import { readExample, type ExampleFile, readList, readObjects, readOptions } from './reader-parts.ts';
import type { Json } from './read-values.ts';
import { createReaderMemory, type ReaderMemory } from './reader-memory.ts';
import type { RecordMap } from './record-map.ts';

/** What the map of a reader follows from. */
interface MapParts {
  readonly options: FormatOptions;
  readonly names: NameTable;
  readonly writer: EventWriter;
  readonly memory: ReaderMemory;
}

/** How records come, where they are not one event each. */
interface RecordForms {
  /** Hook: of a record that holds several events, these, or all that becomes of it; undefined: it is one event. */
  readonly held?: (record: Json) => HeldEvents | RecordResult | undefined;
}

/** See readList. */
export interface HeldEvents {
  readonly items: readonly unknown[];
  readonly name: string;
  readonly nothing: string;
  /** What the map is about; left out: the item itself. */
  readonly recordOf?: (item: Json, index: number) => Json;
  readonly noted?: (result: RecordResult) => RecordResult;
}

/** A format whose records a map says everything about. `mapOf` throws FormatOptionsError. */
export function formatByMap(
  about: Omit<Format, 'createReader' | 'example'> & { readonly example: ExampleFile },
  mapOf: (parts: MapParts) => RecordMap & RecordForms,
): Format {
  const { slug, options: known, example } = about;
  return {
    ...about,
    example: readExample(example),
    createReader: (given, names, memory = createReaderMemory()) => {
      const options = readOptions(slug, known, given);
      return readForms(mapOf({ options, names, memory, writer: createEventWriter(slug, names, memory) }));
    },
  };
}

function readForms({ held, ...map }: RecordMap & RecordForms): RecordReader {
  const reader = createMapReader(map);
  const read = readObjects((record) => {
    const found = held?.(record);
    if (found === undefined) return reader.read(record);
    return 'kind' in found ? found : readHeld(found, reader);
  });
  // The converter would take a record that holds several for one.
  return held === undefined ? withMap(read, map) : read;
}

function readHeld({ items, name, nothing, recordOf, noted }: HeldEvents, { begin }: MapReader): RecordResult {
  const result = readList(items, name, nothing, (item, index) =>
    begin(recordOf === undefined ? item : recordOf(item, index)),
  );
  return noted === undefined ? result : noted(result);
}
