import * as fc from 'fast-check';
import { v5 } from 'uuid';
import { expect, it } from 'vitest';
import { derivedId, millraceNamespace } from './ids.ts';

it('a derived id is the UUIDv5 of its parts', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 3 }), (parts) => {
      expect(derivedId(...parts)).toBe(v5(parts.join('\u001f'), millraceNamespace));
    }),
  );
});
