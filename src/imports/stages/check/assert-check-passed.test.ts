import { expect, it } from 'vitest';
import { noTotals } from '../../run/run.ts';
import { findProblems } from './assert-check-passed.ts';

const conditions = { rejectedMax: 1, target: { kind: 'project' } } as const;

it('a check in which everything was skipped reports the reasons', () => {
  const totals = { ...noTotals, records: 6, skipped: { 'a total of another table': 6 } };
  const [problem] = findProblems({ totals }, conditions);
  expect(problem?.sentence).toContain('found 6 records, 0 of them rejected, 6 skipped (a total of another table), and');
});

it('of a scheduled run it is no fault that nothing is new; that nothing could be read is', () => {
  const scheduled = { ...conditions, scheduled: true } as const;
  expect(findProblems({ totals: noTotals }, conditions)).toHaveLength(1);
  expect(findProblems({ totals: noTotals }, scheduled)).toEqual([]);
  expect(findProblems({ totals: { ...noTotals, records: 2, rejected: 2 } }, scheduled)).toHaveLength(1);
});
