import { assert, property, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBridge, encodeBridge } from './bridge-json.ts';
import { decodeNode, encodeNode } from './node-bridge.ts';
import { base64OfBytes, bytesOfBase64 } from '../guest/lib/base64.ts';

describe('values across the bridge', () => {
  it('bytes are unchanged, on either side', () => {
    assert(
      property(uint8Array({ maxLength: 300 }), (bytes) => {
        expect(base64OfBytes(bytes)).toBe(Buffer.from(bytes).toString('base64'));
        const value = { a: [bytes, 'text'] };
        const inside = decodeBridge(encodeNode(value), bytesOfBase64) as { a: [Uint8Array, string] };
        expect([...inside.a[0]]).toEqual([...bytes]);
        const outside = decodeNode(encodeBridge(value, base64OfBytes)) as { a: [Uint8Array, string] };
        expect([...outside.a[0]]).toEqual([...bytes]);
      }),
    );
  });

  it('JSON is unchanged, also if it looks like bytes', () => {
    const value = { $bytes: 'aGk=', n: null, list: [1, 'x', { $bytes: 5 }] };
    expect(decodeNode(encodeNode(value))).toEqual(value);
    expect(decodeNode(encodeNode(undefined))).toBeNull();
  });
});
