import { createEventWriter, type EventWriter } from './event-writer.ts';
import type { Format, FormatOptions, NameTable, RecordReader, RecordResult } from './format.ts';
import { createMapReader, withMap, type MapReader } from './read-by-map.ts';
import { readExample, type ExampleFile, readList, readObjects, readOptions } from './reader-parts.ts';
import type { Json } from './read-values.ts';
import { createReaderMemory, type ReaderMemory } from './reader-memory.ts';
import type { RecordMap } from './record-map.ts';

/** The inputs from which a format builds its map. */
interface MapParts {
  readonly options: FormatOptions;
  readonly names: NameTable;
  readonly writer: EventWriter;
  readonly memory: ReaderMemory;
}

/** Describes records that contain several events. */
interface RecordForms {
  /** Hook: the events contained in a record, or its final result; `undefined` if the record is one event. */
  readonly held?: (record: Json) => HeldEvents | RecordResult | undefined;
}

/** Arguments of readList. */
export interface HeldEvents {
  readonly items: readonly unknown[];
  readonly name: string;
  readonly nothing: string;
  /** The record passed to the map; by default the item itself. */
  readonly recordOf?: (item: Json, index: number) => Json;
  readonly noted?: (result: RecordResult) => RecordResult;
}

/** Builds a format that a map describes completely. `mapOf` throws FormatOptionsError. */
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
  // The converter would treat a record with several events as one.
  return held === undefined ? withMap(read, map) : read;
}

function readHeld({ items, name, nothing, recordOf, noted }: HeldEvents, { begin }: MapReader): RecordResult {
  const result = readList(items, name, nothing, (item, index) =>
    begin(recordOf === undefined ? item : recordOf(item, index)),
  );
  return noted === undefined ? result : noted(result);
}
