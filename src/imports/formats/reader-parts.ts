import {
  FormatOptionsError,
  type FormatOption,
  type FormatOptions,
  type Format,
  type RecordReader,
  type RecordResult,
} from './format.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';
import { isObject } from '../../base/json.ts';
import { depthMax, isTooDeep, kindOf, type Json } from './read-values.ts';
import { imported, skipped, unreadable, type NoEvents } from './event-writer.ts';

/** Returns the options of a format with their defaults. Throws FormatOptionsError for an unknown option or an invalid choice. */
export function readOptions(slug: string, declared: readonly FormatOption[], given: FormatOptions): FormatOptions {
  const known = new Map(declared.map((option) => [option.key, option]));
  for (const [key, value] of Object.entries(given)) {
    const option = known.get(key);
    if (option === undefined) {
      const keys = [...known.keys()].join(', ') || 'none';
      throw new FormatOptionsError(`expected an option of the format ${slug} (${keys}), got ${key}`);
    }
    if (option.choices?.includes(value) === false) {
      throw new FormatOptionsError(
        `option ${key} of the format ${slug}: expected one of ${option.choices.join(', ')}, got ${value.slice(0, 100)}`,
      );
    }
  }
  const defaults = declared.map((option) => [option.key, option.default ?? ''] as const);
  return { ...Object.fromEntries(defaults), ...given };
}

/** Contents of a format's `example.json`. An option that takes JSON is a value there rather than text. */
export interface ExampleFile {
  readonly options?: Readonly<Record<string, unknown>>;
  readonly records: readonly unknown[];
  readonly events: readonly WireEvent[];
}

export function readExample({ options = {}, records, events }: ExampleFile): Format['example'] {
  const texts = Object.entries(options).map(
    ([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  );
  return { options: Object.fromEntries(texts), records, events };
}

/** Returns a reader that passes only objects within the nesting limit of events to `read`. */
export function readObjects(read: (record: Json) => RecordResult): RecordReader {
  return (record) => {
    if (!isObject(record)) return { kind: 'unreadable', reason: `expected a JSON object, got ${kindOf(record)}` };
    if (isTooDeep(record)) return { kind: 'unreadable', reason: `expected at most ${depthMax} levels of nesting` };
    return read(record);
  };
}

/** One event of a record with several. Nothing is written or remembered before all have been read. */
export type Readable = { readonly kind: 'readable'; readonly write: () => readonly WireEvent[] } | NoEvents;

export const readable = (write: () => readonly WireEvent[]): Readable => ({ kind: 'readable', write });

/**
 * Reads a record with several events: returns all of them, or none if one cannot be read, so that the record can be corrected and
 * imported as a whole. `name`: the member, for reasons such as `data[3]: expected …`; `nothing`: the reason for skipping an empty
 * list.
 */
export function readList(
  items: readonly unknown[],
  name: string,
  nothing: string,
  read: (item: Json, index: number) => Readable,
): RecordResult {
  const writers: (() => readonly WireEvent[])[] = [];
  let reason = nothing;
  for (const [index, item] of items.entries()) {
    const result = isObject(item) ? read(item, index) : unreadable(`expected an object, got ${kindOf(item)}`);
    if (result.kind === 'unreadable') return unreadable(`${name}[${index}]: ${result.reason}`);
    if (result.kind === 'skipped') reason = result.reason;
    else if (result.kind === 'readable') writers.push(result.write);
  }
  return writers.length === 0 ? skipped(reason) : imported(writers.flatMap((write) => write()));
}
