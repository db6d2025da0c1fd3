import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';
import { createBench } from '../../../../../test/support/pipeline.ts';
import type { ImportChoice } from '../../../../wire/contract/import-choice.ts';
import { findGroup } from '../../../../pipeline/persons/read-groups.ts';

/** Time and company properties of a record. */
type TestRecord = readonly [clock: string, properties: object, more?: object];

const recordOf = ([clock, properties, more]: TestRecord, index: number): object => ({
  event_type: 'Seen',
  event_time: `2024-05-${clock}`,
  device_id: 'd1',
  uuid: `0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a${String(index).padStart(2, '0')}`,
  groups: { company: 'acme' },
  group_properties: { company: { acme: properties } },
  ...more,
});

interface Imported {
  readonly properties: unknown;
  readonly createdAt: string | undefined;
  /** Times of `$groupidentify`. */
  readonly identifiedAt: readonly string[];
  readonly totals: object;
}

/** Imports the first three records as one file, the others as a second one, and loads them day by day. */
async function imported(
  records: readonly TestRecord[],
  { threads = 1, perSegment = 1, choice }: { threads?: number; perSegment?: number; choice?: ImportChoice } = {},
): Promise<Imported> {
  await using test = await checkTest({ format: 'amplitude', ...(choice && { choice }) });
  const lines = records.map((each, index) => JSON.stringify(recordOf(each, index)));
  await test.stage('first', lines.slice(0, 3), perSegment);
  await test.stage('second', lines.slice(3), perSegment);
  const { totals } = await test.check({ limits: { threadBytesMin: 1 }, threads });
  await using bench = await createBench();
  const events = await test.events();
  for (const event of events) await bench.append('historical', { batch: [event] });
  await bench.drain();
  const group = await findGroup(bench.db, bench.projectId, 0, 'acme');
  const identifiedAt = events.filter(({ event }) => event === '$groupidentify').map(({ timestamp }) => timestamp);
  return { properties: group?.group_properties, createdAt: group?.created_at, identifiedAt, totals };
}

const modes = [
  { threads: 1 },
  { threads: 2 },
  { threads: 1, perSegment: 10 },
  { threads: 1, choice: { identity: 'first_user' } },
] as const;

describe('properties of groups', () => {
  const x = { plan: 'x', seats: 1 };
  const y = { plan: 'y' };
  const days: readonly TestRecord[] = [
    ['01 10:00:00', x],
    ['09 10:00:00', x],
    ['01 10:00:00', x],
    ['05 10:00:00', y],
  ];
  const hours: readonly TestRecord[] = [
    ['01 10:00:00', x],
    ['01 12:00:00', x],
    ['01 20:00:00', x],
    ['01 15:00:00', y],
  ];

  it.each(modes)('are those of the latest record, in any order of files (%o)', async (mode) => {
    for (const records of [days, hours, days.toReversed()]) {
      expect(await imported(records, mode)).toMatchObject({ properties: { plan: 'x', seats: 1 } });
    }
  });

  it.each(modes)(
    'are written once a day, at the latest time, for all records with equal properties (%o)',
    async (mode) => {
      const last = ['2024-05-01T15:00:00.000Z', '2024-05-01T20:00:00.000Z'];
      expect((await imported(hours.toReversed(), mode)).identifiedAt).toEqual(last);
      expect((await imported(days, mode)).identifiedAt).toHaveLength(3);
    },
  );

  it.each([1, 2])(
    'count once for records that contain nothing else; the others are skipped (%i threads)',
    async (threads) => {
      const alone = { event_type: '$groupidentify' };
      const records = hours.map(([clock, properties]): TestRecord => [clock, properties, alone]);
      const { identifiedAt, totals } = await imported(records, { threads });
      expect(identifiedAt).toHaveLength(2);
      expect(totals).toMatchObject({ records: 4, events: 2, duplicates: 0, rejected: 0, skipped: expect.any(Object) });
      const { skipped } = totals as { readonly skipped: Readonly<Record<string, number>> };
      expect(Object.values(skipped)).toEqual([2]);
    },
  );
});
