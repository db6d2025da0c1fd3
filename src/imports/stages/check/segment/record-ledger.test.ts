import { describe, expect, it } from 'vitest';
import { linesWithoutRecord } from '../../../source.ts';
import { createRecordLedger, disagreements, type SegmentCounts } from './record-ledger.ts';

const agreeing: SegmentCounts = {
  lines: Buffer.from('{}\n{}\n{}\n7'),
  tally: { counts: () => ({ records: 4, converted: 2, skipped: 1, unreadable: 1, events: 3 }) },
  ledger: { lines: 2, events: 3 },
  written: 3,
};

describe('the counts of a segment', () => {
  it('are made independently when reading and writing, and every difference is found', () => {
    expect(disagreements(agreeing)).toEqual([]);
    const counts = agreeing.tally.counts();
    for (const key of ['records', 'converted', 'skipped', 'unreadable', 'events'] as const) {
      const tally = { counts: () => ({ ...counts, [key]: counts[key] + 1 }) };
      expect(disagreements({ ...agreeing, tally })).not.toEqual([]);
    }
    expect(disagreements({ ...agreeing, ledger: { lines: 1, events: 3 } })).toEqual([
      'records with events: read and written: 2 and 1',
    ]);
    expect(disagreements({ ...agreeing, written: 0 })).toEqual(['events: written, and rows or deferred: 3 and 0']);
  });

  it('exclude blank lines and those that continue a record, wherever the segment begins and ends', () => {
    const blank = Buffer.from('\n{"a":"\\n"}\n \t\r\n\ufeff\n{}\n{}\n\n7\n ');
    expect(disagreements({ ...agreeing, lines: blank })).toEqual([]);
    expect(linesWithoutRecord(blank)).toBe(5);
    expect(linesWithoutRecord(Buffer.from('\v\n'))).toBe(0);
    const text = Buffer.from('\f\n{"a":"\f"}\n\f\n\f\n{}\n{}\n\f\n7');
    const without = Buffer.from('{}\n{}\n{}\n7');
    expect(disagreements({ ...agreeing, lines: text })).toEqual([]);
    expect(linesWithoutRecord(text)).toBe(4);
    expect(linesWithoutRecord(without)).toBe(0);
  });

  it('count a line once, however many events it has, and its links if it has no other events', () => {
    const ledger = createRecordLedger();
    ledger.stored(1);
    ledger.stored(2, true);
    ledger.stored(2);
    ledger.refused(2);
    ledger.refused(3);
    ledger.stored(4, true);
    expect([ledger.lines, ledger.events]).toEqual([4, 4]);
    expect([1, 2, 4].map((line) => ledger.linksOf(line))).toEqual([0, Infinity, 1]);
  });
});
