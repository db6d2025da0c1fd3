import * as fc from 'fast-check';
import lz from 'lz-string';
import { describe, expect, it } from 'vitest';
import { decompressLz64, LzError } from './decode.ts';

const decode = (text: string, charsMax = 1_000_000): string => decompressLz64(Buffer.from(text), charsMax);

describe('lz64', () => {
  it('reads everything that lz-string writes', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc
        .array(fc.constantFrom('a', 'ab', '{"event":"x"}', 'é', '😀', '\0', 'ÿ', 'Ā'), { maxLength: 400 })
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (original) => {
        expect(decode(lz.compressToBase64(original))).toBe(original);
      }),
      { numRuns: 200 },
    );
  });

  it('refuses a bomb at the limit, using little memory', () => {
    const bomb = lz.compressToBase64('a'.repeat(400_000));
    expect(bomb.length).toBeLessThan(5_000);
    const before = process.memoryUsage().arrayBuffers;
    expect(() => decode(bomb, 100_000)).toThrow('more than 100000 characters');
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000);
  });

  it('throws only LzError, for any text', () => {
    const refusal = (text: string): unknown => {
      try {
        decode(text);
      } catch (error) {
        return error;
      }
      return undefined;
    };
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9+/=]{0,60}$/), (text) => {
        const error = refusal(text);
        expect(error === undefined || error instanceof LzError).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });
});
