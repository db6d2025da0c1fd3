import { describe, expect, it } from 'vitest';
import type { RecordReader, RecordResult } from './format.ts';
import { formats } from './registry.ts';
import { faultKinds, faultyExport, type PlantedFault } from '../../../test/support/planted-faults.ts';
import { plans } from '../../../test/support/planted-plans.ts';

const count = 1500;
const seed = 7;

/** The actual outcome of the planted lines. */
function outcomeOf(result: RecordResult, seen: ReadonlySet<string>): PlantedFault['outcome'] {
  if (result.kind !== 'events') return result.kind;
  const isStorable = result.events.every(
    (event) => JSON.stringify(event).length < 1_000_000 && !Number.isNaN(Date.parse(event.timestamp)),
  );
  if (!isStorable) return 'refused';
  return keysOf(result).every((key) => seen.has(key)) ? 'same' : 'more';
}

function keysOf(result: RecordResult): string[] {
  if (result.kind !== 'events') return [];
  return result.events.map(({ uuid, event, distinct_id, timestamp }) =>
    JSON.stringify([uuid, event, distinct_id, timestamp]),
  );
}

/** A line that is not JSON is not a record. */
function readLine(line: string, reader: RecordReader): RecordResult {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return { kind: 'unreadable', reason: 'not JSON' };
  }
  return reader(record);
}

describe('exports with planted faults', () => {
  it('exist for every format', () => {
    expect(Object.keys(plans)).toEqual(formats.map(({ slug }) => slug));
    expect(() => faultyExport('constructor', 1, 1)).toThrow(/expected one of .*amplitude, .*got constructor/);
  });

  describe.each(formats.map((format) => [format.slug, format] as const))('%s', (slug, format) => {
    const read = () => {
      const faults = new Map<number, PlantedFault>();
      const options = { rate: 0.05, onPlanted: (fault: PlantedFault) => void faults.set(fault.line, fault) };
      const { chunks, planted } = faultyExport(slug, seed, count, options);
      return { bytes: Buffer.concat([...chunks]), faults, planted };
    };
    const { bytes, faults, planted } = read();
    const lines = bytes.toString().split('\n').slice(0, -1);

    it('contains all clean records unchanged, and every kind of fault at the requested rate', () => {
      const clean = lines.filter((_, index) => !faults.has(index + 1));
      const records = [...(plans[slug]?.records(seed, count) ?? [])];
      expect(clean).toHaveLength(records.length);
      expect(clean.findIndex((line, index) => line !== JSON.stringify(records[index]))).toBe(-1);
      expect(planted).toMatchObject({ lines: lines.length, clean: count });
      for (const kind of faultKinds) {
        expect(planted.kinds[kind]).toBeGreaterThan(0);
        expect([...faults.values()].filter((fault) => fault.kind === kind)).toHaveLength(planted.kinds[kind]);
      }
      expect(faults.size).toBe(lines.length - count);
      expect(faults.size).toBeLessThan(count * 0.07);
      expect(read().bytes.equals(bytes)).toBe(true);
    });

    it('every planted line has the expected outcome', () => {
      const reader = format.createReader(plans[slug]?.options ?? {}, format.names);
      const seen = new Set<string>();
      const wrong: unknown[] = [];
      for (const [index, line] of lines.entries()) {
        const fault = faults.get(index + 1);
        const result = readLine(line, reader);
        const outcome = outcomeOf(result, seen);
        if (fault !== undefined && outcome !== fault.outcome) wrong.push({ ...fault, really: outcome });
        if (fault === undefined && (outcome === 'unreadable' || outcome === 'refused')) wrong.push({ line, outcome });
        if (outcome !== 'refused') for (const key of keysOf(result)) seen.add(key);
      }
      expect(wrong).toEqual([]);
    });
  });
});
