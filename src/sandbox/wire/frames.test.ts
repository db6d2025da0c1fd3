import { array, assert, dictionary, integer, jsonValue, property, record, string, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBridge, encodeBridge } from './bridge-json.ts';
import { encodeFrame, FrameReader } from './frames.ts';
import { decodeNode, encodeNode } from './node-bridge.ts';
import { fromBase64, toBase64 } from '../guest/base64.ts';

describe('frames', () => {
  it('whatever is sent arrives whole, however it was cut on the way', () => {
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

  it('a peer that speaks something else is refused', () => {
    const reader = new FrameReader<unknown>();
    expect(() => reader.push(Buffer.from('HTTP/1.1 200 OK'))).toThrow(/expected a frame/);
  });
});

describe('values over the bridge', () => {
  it('bytes come out as they went in, on either side', () => {
    assert(
      property(uint8Array({ maxLength: 300 }), (bytes) => {
        expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
        const value = { a: [bytes, 'text'] };
        const inside = decodeBridge(encodeNode(value), fromBase64) as { a: [Uint8Array, string] };
        expect([...inside.a[0]]).toEqual([...bytes]);
        const outside = decodeNode(encodeBridge(value, toBase64)) as { a: [Uint8Array, string] };
        expect([...outside.a[0]]).toEqual([...bytes]);
      }),
    );
  });

  it('JSON goes through as it is, also what looks like bytes', () => {
    const value = { $bytes: 'aGk=', n: null, list: [1, 'x', { $bytes: 5 }] };
    expect(decodeNode(encodeNode(value))).toEqual(value);
    expect(decodeNode(encodeNode(undefined))).toBeNull();
  });
});
