import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { distinctIdCharsMax } from './limits.ts';
import { storedId } from './stored-id.ts';

it('an id is stored whole or truncated to 200 characters, as text that every store can keep', () => {
  const ids = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 450 }),
    fc.constantFrom('a\0b', '\ud800', '😀'.repeat(201)),
  );
  fc.assert(
    fc.property(ids, (id) => {
      const clean = id.replaceAll('\0', '\ufffd').toWellFormed();
      expect(storedId(id)).toBe([...clean].slice(0, distinctIdCharsMax).join(''));
    }),
  );
});
