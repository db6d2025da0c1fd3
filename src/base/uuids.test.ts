import { describe, expect, it } from 'vitest';
import { canonicalUuid } from './uuids.ts';

const canonical = '0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';
const digits = canonical.replaceAll('-', '');
const bare = [canonical, digits, canonical.toUpperCase(), digits.toUpperCase()];

describe('a UUID', () => {
  it.each(
    bare
      .flatMap((text) => [text, `{${text}}`, `urn:uuid:${text}`, `URN:UUID:${text}`, `urn:uuid:{${text}}`])
      .flatMap((text) => [text, ` ${text}`, `\t${text}\r\n`, `\u00a0${text}${' '.repeat(100)}`]),
  )('%j is the same one, dashed and in lower case', (text) => {
    expect(canonicalUuid(text)).toBe(canonical);
  });

  it.each([
    '',
    'x',
    canonical.slice(1),
    `${canonical}0`,
    `{${canonical}`,
    `${canonical}}`,
    `uuid:${canonical}`,
    `urn:${canonical}`,
    canonical.replace('-', ''),
    canonical.replace('a', 'g'),
    `0198a1b2-c3d47e5f-8a6b7c8d9e0f1a2b`,
    `(${canonical})`,
    12,
    null,
    undefined,
    { canonical },
  ])('%j is not one', (value) => {
    expect(canonicalUuid(value)).toBeUndefined();
  });
});
