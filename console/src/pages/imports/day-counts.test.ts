import { describe, expect, it } from 'vitest';
import { countNamesOf, csvOf, differs, isCellOff, type Row } from './day-counts.ts';

const day: Row = {
  day: '2024-02-29',
  to_load: 12,
  duplicates: 0,
  loaded: 12,
  rejected: 0,
  verified: 12,
  counts: [12],
};
const gone: Row = { ...day, verified: 0, expired: 12, counts: [[12, 12, 0, 12]] };

describe('the days of a report', () => {
  it('expired events are counted as such, and are no difference', () => {
    expect(differs(gone, 'verified')).toBe(false);
    expect(differs({ ...gone, expired: 11 }, 'verified')).toBe(true);
    expect(differs({ ...day, verified: 11 }, 'verified')).toBe(true);
    expect(differs({ ...day, verified: null }, 'verified')).toBe(false);
    for (const cell of [[12, 12, 0, 12] as const, [12, 12, 5, 7] as const, 12]) expect(isCellOff(cell)).toBe(false);
    for (const cell of [[12, 12, 0, 11] as const, [12, 11, 0, 11] as const, [12, 12, 0] as const]) {
      expect(isCellOff(cell)).toBe(true);
    }
  });

  it('have a column of expired events only if there are any', () => {
    expect(countNamesOf([day])).not.toContain('expired');
    expect(countNamesOf([day, gone])).toContain('expired');
    const [header, first, second] = csvOf([day, gone], ['Käufe "鞋"']).split(/\r?\n/);
    expect(header).toBe('day,to_load,loaded,verified,expired,duplicates,rejected,"Käufe ""鞋"""');
    expect(first).toBe('2024-02-29,12,12,12,0,0,0,12');
    expect(second).toBe('2024-02-29,12,12,0,12,0,0,0');
  });
});
