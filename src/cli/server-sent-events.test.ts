import { describe, expect, it } from 'vitest';
import { serverSentEvents } from './server-sent-events.ts';

function streamOf(text: string, cut: number): Response {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let at = 0; at < bytes.length; at += cut) controller.enqueue(bytes.slice(at, at + cut));
      controller.close();
    },
  });
  return new Response(body);
}

describe('server-sent events', () => {
  const text =
    ': hello\n\nevent: progress\ndata: {"a":"ü"}\n\nevent: other\ndata: 1\n\nid: 7\r\nevent:progress\r\ndata: 1\r\ndata: 2\r\n\r\n' +
    'event: progress\n\nevent: progress\ndata: cut off';

  it.each([1, 2, 3, 7, 1000])('are the same however the stream is split (%i bytes)', async (cut) => {
    const events = await Array.fromAsync(serverSentEvents(streamOf(text, cut)));
    expect(events.map(({ event, data }) => [event, data])).toEqual([
      ['progress', '{"a":"ü"}'],
      ['other', '1'],
      ['progress', '1\n2'],
    ]);
  });

  it('an endless line is an error and does not exhaust memory', async () => {
    const endless = serverSentEvents(streamOf(`data: ${'x'.repeat(4_100_000)}`, 100_000));
    await expect(Array.fromAsync(endless)).rejects.toThrow(/exceed/);
  });
});
