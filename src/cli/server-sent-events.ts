import { EventSourceParserStream, type EventSourceMessage } from 'eventsource-parser/stream';

/** The service sends no longer event. */
const eventCharsMax = 4_000_000;

/** Yields the events of a stream as they arrive; skips comments (heartbeats). */
export async function* serverSentEvents({ body }: Response): AsyncIterable<EventSourceMessage> {
  if (body === null) return;
  yield* body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: eventCharsMax }));
}
