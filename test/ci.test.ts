import { describe, expect, it } from 'vitest';
import { testTotals } from '../tools/test-totals.ts';

describe('the totals of a CI run', () => {
  it.each([
    [' Tests  19 passed (19)\n', { passed: 19, failed: 0, skipped: 0 }],
    [
      '\u001b[2m      Tests \u001b[22m \u001b[1m2 failed\u001b[22m | 19 passed (21)\n',
      { passed: 19, failed: 2, skipped: 0 },
    ],
    [' Tests  5 passed | 3 skipped | 1 todo (9)\n Tests  7 passed (7)\n', { passed: 12, failed: 0, skipped: 4 }],
    [' Test Files  1 failed | 2 passed (3)\n Tests  8 passed (8)\n', { passed: 8, failed: 1, skipped: 0 }],
    [' Tests  8 passed (8)\n Errors  1 error\n', { passed: 8, failed: 1, skipped: 0 }],
    ['npm error code EUSAGE\n', { passed: 0, failed: 0, skipped: 0 }],
  ])('%j', (log, totals) => {
    expect(testTotals(log)).toEqual(totals);
  });
});
