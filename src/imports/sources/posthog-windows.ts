import { dayMs } from '../../base/time.ts';
import type { RecordChunk, SourceContext } from '../source.ts';
import { chunkOf } from './parse-page.ts';
import { eventPages, wholeSlice, type EventsApi, type FoundEvent, type MicroSlice } from './posthog-pages.ts';

const dayMicros = dayMs * 1000;
const daysMax = 128;

/** What one request has brought: all events of a stretch of time. */
interface Window extends MicroSlice {
  readonly events: readonly FoundEvent[];
}

/**
 * Opens slices one after the other. Where there is little, one request answers for many of them: as long as all of its events fit
 * into one page the next one asks for twice the time, and for a single slice again when they do not.
 */
export function createEventWindows(
  events: EventsApi,
): (slice: MicroSlice, context: SourceContext) => AsyncGenerator<RecordChunk> {
  let days = 1;
  let window: Window | undefined;
  return async function* open(slice, context) {
    if (window === undefined || slice.from < window.from || slice.to > window.to) {
      const stretch = { from: slice.from, to: Math.max(slice.to, slice.from + days * dayMicros) };
      const found = days === 1 ? undefined : await wholeSlice(events, stretch, context);
      window = found === undefined ? undefined : { ...stretch, events: found };
      days = window === undefined && days > 1 ? 1 : days;
    }
    if (window !== undefined) {
      const records = window.events.filter(({ micros }) => micros >= slice.from && micros < slice.to);
      if (slice.to >= window.to) days = Math.min(daysMax, days * 2);
      if (records.length > 0)
        yield chunkOf(
          records.map(({ record }) => record),
          0,
        );
      return;
    }
    let count = 0;
    for await (const chunk of eventPages(events, slice, context)) {
      count += chunk.count;
      yield chunk;
    }
    days = count * 4 < events.limit ? 2 : 1;
  };
}
