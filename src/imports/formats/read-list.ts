import { isObject } from '../../base/json.ts';
import { imported, skipped, unreadable, type NoEvents } from './event-writer.ts';
import type { RecordResult } from './format.ts';
import { kindOf, type Json } from './read-values.ts';
import type { WireEvent } from '../../wire/contract/wire-event.ts';

/** One event of a record that holds several. Nothing is written, and nothing remembered, before all have been read. */
export type Readable = { readonly kind: 'readable'; readonly write: () => readonly WireEvent[] } | NoEvents;

export const readable = (write: () => readonly WireEvent[]): Readable => ({ kind: 'readable', write });

/** A record that holds one event. */
export function readOne(read: Readable): RecordResult {
  return read.kind === 'readable' ? imported(read.write()) : read;
}

/**
 * A record that holds several: the events of all of them, or none if one cannot be read, so that the record can be
 * corrected and imported as a whole. `name`: the member, for reasons such as `data[3]: expected …`; `nothing`: why an
 * empty list is left out.
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
