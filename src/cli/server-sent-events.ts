import { EventSourceParserStream, type EventSourceMessage } from 'eventsource-parser/stream';

/** A server-sent event that is longer than this is none of ours. */
const eventCharsMax = 4_000_000;

/** The events of a stream, as they come; comments (heartbeats) are passed over. */
export async function* serverSentEvents({ body }: Response): AsyncIterable<EventSourceMessage> {
  if (body === null) return;
  yield* body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream({ maxBufferSize: eventCharsMax }));
}
