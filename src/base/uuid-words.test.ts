import { expect, it } from 'vitest';
import { readUuidWords } from './uuid-words.ts';

it.each(['0189d5f0-1e2d-7abc-8def-0123456789ab', '0189D5F0-1E2D-7ABC-8DEF-0123456789AB'])(
  'the digits of %s are read into four words in either case',
  (uuid) => {
    const words = new Uint32Array(5).fill(7);
    readUuidWords(uuid, words);
    expect([...words]).toEqual([0x0189d5f0, 0x1e2d7abc, 0x8def0123, 0x456789ab, 7]);
  },
);
