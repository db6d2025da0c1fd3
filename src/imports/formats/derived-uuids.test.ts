import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { derivedId } from '../../base/ids.ts';
import { createUuids, fastId } from './derived-uuids.ts';

describe('ids derived from names', () => {
  it('equal those of derivedId for any parts', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 30 }), { minLength: 1, maxLength: 4 }), (parts) => {
        expect(fastId(...parts)).toBe(derivedId(...parts));
      }),
    );
    for (const length of [1364, 1365, 1366, 4096, 50_000]) {
      expect(fastId('ü'.repeat(length))).toBe(derivedId('ü'.repeat(length)));
    }
  });

  it('accept any 16 bytes as namespace', () => {
    expect(createUuids(Buffer.from('posthog_mixpanel'))('evt-1')).toBe('b1e8294d-c1b5-55f9-bb71-a01a10983447');
  });
});
