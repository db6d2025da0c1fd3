import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { eventsOf, microsOf, stageDays, tempStaging, type TestEvent } from '../../../../test/support/staged-days.ts';
import { createTestRun } from '../../../../test/support/leased-run.ts';
import type { TargetReader } from '../../target.ts';
import { compareDay } from './compare-day.ts';
import { createDifferences } from './differences.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const day = '2024-03-01';

function readerOf(events: readonly TestEvent[]): TargetReader & { reads: number } {
  const reader = {
    reads: 0,
    dayCounts: async () => new Map(),
    eventsNamed: async function* () {},
    dayEvents: async function* (_day: string, names: readonly string[]) {
      reader.reads += 1;
      const named = events.filter(({ event }) => names.includes(event));
      yield named.map(({ event, uuid, distinct_id: distinctId, timestamp }) => ({
        event,
        uuid,
        distinctId,
        timestamp: microsOf(timestamp),
        runId: 'run-1',
      }));
    },
  };
  return reader;
}

describe('comparing a day event by event', () => {
  it.each([1000, 97, 10])('finds the same with at most %i records in memory', async (identitiesMax) => {
    await using temp = await tempStaging();
    const events = eventsOf('run-1', day, 300);
    const test = createTestRun('run-1');
    await stageDays(test, { ...temp, runStore: chdb.store }, { [day]: events }, 50);
    const differences = createDifferences(4);
    const reader = readerOf(events.filter((_event, n) => n % 30 !== 3));
    const found = await compareDay({
      store: chdb.store,
      reader,
      run: { projectId: test.run.projectId, runId: 'run-1' },
      day,
      events: ['viewed', 'paid', 'left "early"'],
      expected: 300,
      refused: new Set(),
      mayBeTransformed: false,
      differences,
      signal: new AbortController().signal,
      contents: 'crc32',
      identitiesMax,
    });
    expect([...found.counts]).toEqual([
      ['viewed', 90],
      ['paid', 100],
      ['left "early"', 100],
    ]);
    expect(found.byOthers).toEqual(new Map());
    expect(differences.faults()).toBe(10);
    expect(differences.kept()).toHaveLength(4);
    expect(differences.of('viewed', 'missing')).toBe(10);
    expect(reader.reads).toBe(Math.ceil(300 / identitiesMax));
  });
});
