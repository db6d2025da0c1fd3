import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';
import { createBench } from '../../../../../test/support/pipeline.ts';
import type { ImportChoice } from '../../../../wire/contract/import-choice.ts';
import { findGroup } from '../../../../pipeline/persons/read-groups.ts';

/** What a record says of the company, and when. */
type Said = readonly [clock: string, properties: object, more?: object];

const recordOf = ([clock, properties, more]: Said, index: number): object => ({
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
  readonly said: readonly string[];
  readonly totals: object;
}

/** Each record in a segment of its own, the first three in a file of their own; loaded as the days have them. */
async function imported(
  records: readonly Said[],
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
  const said = events.filter(({ event }) => event === '$groupidentify').map(({ timestamp }) => timestamp);
  return { properties: group?.group_properties, createdAt: group?.created_at, said, totals };
}

const ways = [
  { threads: 1 },
  { threads: 2 },
  { threads: 1, perSegment: 10 },
  { threads: 1, choice: { identity: 'first_user' } },
] as const;

describe('properties of groups', () => {
  const x = { plan: 'x', seats: 1 };
  const y = { plan: 'y' };
  const days: readonly Said[] = [
    ['01 10:00:00', x],
    ['09 10:00:00', x],
    ['01 10:00:00', x],
    ['05 10:00:00', y],
  ];
  const hours: readonly Said[] = [
    ['01 10:00:00', x],
    ['01 12:00:00', x],
    ['01 20:00:00', x],
    ['01 15:00:00', y],
  ];

  it.each(ways)('are those of the latest record, whatever the order of files is (%o)', async (way) => {
    for (const records of [days, hours, days.toReversed()]) {
      expect(await imported(records, way)).toMatchObject({ properties: { plan: 'x', seats: 1 } });
    }
  });

  it.each(ways)('are said once a day by all records that agree, at the latest time (%o)', async (way) => {
    const last = ['2024-05-01T15:00:00.000Z', '2024-05-01T20:00:00.000Z'];
    expect((await imported(hours.toReversed(), way)).said).toEqual(last);
    expect((await imported(days, way)).said).toHaveLength(3);
  });

  it.each([1, 2])(
    'of records that say nothing else count once, the others are skipped (%i threads)',
    async (threads) => {
      const alone = { event_type: '$groupidentify' };
      const records = hours.map(([clock, properties]): Said => [clock, properties, alone]);
      const { said, totals } = await imported(records, { threads });
      expect(said).toHaveLength(2);
      expect(totals).toMatchObject({ records: 4, events: 2, duplicates: 0, rejected: 0, skipped: expect.any(Object) });
      const { skipped } = totals as { readonly skipped: Readonly<Record<string, number>> };
      expect(Object.values(skipped)).toEqual([2]);
    },
  );
});
