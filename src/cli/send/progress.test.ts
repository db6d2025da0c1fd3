import { describe, expect, it } from 'vitest';
import { alignColumns } from '../terminal.ts';
import { progressText, newTotals, totalsLines } from './totals.ts';

describe('progress of a command', () => {
  it.each([
    [
      'half of a file',
      50,
      100,
      10_000,
      { accepted: 5000 },
      '[############            ]   50 %  5,000 events  500/s  ETA 0:10',
    ],
    [
      'with losses',
      100,
      100,
      1000,
      { accepted: 9, rejected: 1, retries: 2 },
      '100 %  10 events  10/s  1 rejected  2 retries',
    ],
    ['a pipe has no end', 50, undefined, 2000, { accepted: 10 }, '10 events  5/s'],
    ['hours', 1, 1000, 10_000, { accepted: 1 }, 'ETA 2:46:30'],
    ['the beginning', 0, 100, 0, {}, '0 events  0/s'],
  ])('%s', (_name, read, total, elapsedMs, counts, expected) => {
    expect(progressText(read, total, { ...newTotals(), ...counts }, elapsedMs)).toContain(expected);
  });
});

describe('totals as text', () => {
  it('omit zero counts and list the reasons, most frequent first', () => {
    const totals = {
      ...newTotals(),
      read: 10,
      accepted: 6,
      rejected: 4,
      reasons: new Map([
        ['rare', 1],
        ['frequent', 3],
      ]),
    };
    expect(totalsLines(totals, false)).toEqual([
      'read  10',
      'accepted  6',
      'rejected  4',
      '  3 × frequent',
      '  1 × rare',
    ]);
    expect(totalsLines({ ...newTotals(), read: 1, accepted: 1 }, true)).toEqual(['read  1', 'ready to send  1']);
  });
});

describe('tables', () => {
  it('are aligned, and data cannot move the cursor', () => {
    expect(
      alignColumns([
        ['A', 'B'],
        ['long\u001b[2J', 'x'],
        ['', 'two\nlines'],
      ]),
    ).toEqual(['A         B', 'long [2J  x', '          two lines']);
  });
});
