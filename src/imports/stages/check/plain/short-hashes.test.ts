import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { hashRoomBytes, md5Of, sha1Of } from './short-hashes.ts';

const kinds = {
  md5: { of: md5Of, words: 2, read: (hash: Buffer, at: number) => hash.readUInt32LE(at) },
  sha1: { of: sha1Of, words: 4, read: (hash: Buffer, at: number) => hash.readUInt32BE(at) },
};

it.each(['md5', 'sha1'] as const)('%s is what the platform makes of the same bytes, of whatever length', (kind) => {
  const { of, words, read } = kinds[kind];
  const isSame = (message: Uint8Array): boolean => {
    const hash = createHash(kind).update(message).digest();
    const bytes = new Uint8Array(message.length + hashRoomBytes).fill(0xff);
    bytes.set(message);
    const sum = new Uint32Array(words);
    of(bytes, message.length, sum);
    return sum.every((word, index) => word === read(hash, index * 4));
  };
  for (let length = 0; length < 260; length += 1) expect(isSame(new Uint8Array(length).fill(length))).toBe(true);
  expect(fc.check(fc.property(fc.uint8Array({ maxLength: 1200 }), isSame)).counterexample).toBeNull();
});

it('a message without room behind it is not hashed', () => {
  expect(() => md5Of(new Uint8Array(64), 60, new Uint32Array(2))).toThrow(RangeError);
});
