import { once } from 'node:events';
import { createServer, connect, type Socket } from 'node:net';
import { array, assert, dictionary, integer, jsonValue, property, record, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFrame, frameBytesMax, FrameReader, writeFrame } from './frames.ts';

describe('frames', () => {
  it('arrive complete, however they were split', () => {
    const message = record({
      header: dictionary(string(), jsonValue()),
      body: string({ unit: 'binary' }),
    });
    assert(
      property(array(message, { maxLength: 5 }), integer({ min: 1, max: 50 }), (messages, size) => {
        const bytes = Buffer.concat(messages.map(({ header, body }) => encodeFrame(header, body)));
        const reader = new FrameReader<unknown>();
        const got: unknown[] = [];
        for (let at = 0; at < bytes.length; at += size) {
          for (const { header, body } of reader.push(bytes.subarray(at, at + size))) {
            got.push({ header, body: body.toString('utf8') });
          }
        }
        expect(got).toEqual(
          messages.map(({ header, body }) => ({
            header: JSON.parse(JSON.stringify(header)) as unknown,
            body: Buffer.from(body).toString('utf8'),
          })),
        );
      }),
    );
  });

  it('long and short bodies of any characters arrive in order over a socket', async () => {
    const bodies = [
      '',
      'short',
      'é',
      'a'.repeat(4095),
      'a'.repeat(4096),
      'a'.repeat(300_000),
      'ab'.repeat(5000) + '\u0100',
    ];
    const sent = [...bodies, `${'x'.repeat(5000)}é`, '\ud83d\ude00'.repeat(3000), `${'y'.repeat(9000)}\u0000`, 'end'];
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('expected a port');
    const socket = connect(address.port, '127.0.0.1');
    const [peer] = (await once(server, 'connection')) as [Socket];
    for (const [id, body] of sent.entries()) writeFrame(socket, { id, name: 'é' }, body);
    socket.end();
    const reader = new FrameReader<{ id: number; name: string }>();
    const got: unknown[] = [];
    for await (const chunk of peer) {
      for (const { header, body } of reader.push(chunk as Buffer)) got.push([header.id, header.name, body.toString()]);
    }
    server.close();
    expect(got).toEqual(sent.map((body, id) => [id, 'é', body]));
  });

  const bodies = [Buffer.alloc(0), Buffer.from('ü\n'), Buffer.alloc(5000, 7)];
  const wire = Buffer.concat(bodies.map((body, id) => encodeFrame({ id, ok: true }, body)));

  it.each([1, 2, 3, 5, 7, 64, 4999, 100_000])('bytes received in chunks of %i are complete', (size) => {
    const reader = new FrameReader<unknown>();
    const found = [];
    for (let at = 0; at < wire.length; at += size) found.push(...reader.push(wire.subarray(at, at + size)));
    expect(found).toEqual(bodies.map((body, id) => ({ header: { id, ok: true }, body })));
  });

  it('an impossible length is refused', () => {
    for (const length of [0, 3, frameBytesMax + 1, 2 ** 32 - 1]) {
      const head = Buffer.alloc(4);
      head.writeUInt32LE(length);
      expect(() => new FrameReader().push(head)).toThrow(/expected a frame/);
    }
  });

  it('a peer with another protocol is refused', () => {
    const reader = new FrameReader<unknown>();
    expect(() => reader.push(Buffer.from('HTTP/1.1 200 OK'))).toThrow(/expected a frame/);
  });
});
