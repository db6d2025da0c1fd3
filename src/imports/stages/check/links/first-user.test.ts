import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';
import { createBench } from '../../../../../test/support/pipeline.ts';
import type { ImportChoice } from '../../../../wire/contract/import-choice.ts';
import type { FormatOptions } from '../../../formats/format.ts';

/** A visitor at the kiosk, on a day of May 2024. */
type Visit = readonly [user: string | undefined, day: number];

const clock = (day: number): string => `2024-05-${String(day).padStart(2, '0')} 10:00:00`;
const iso = (day: number): string => `${clock(day).replace(' ', 'T')}.000Z`;
const id = (day: number): string => `e-${day}`;

const kiosk = 'kiosk';
const rules = { event: 'e', distinct_id: { first: ['u', 'd'] }, anonymous_id: 'd', timestamp: 't', uuid: 'id' };
const formats: readonly (readonly [string, (visit: Visit) => object, FormatOptions])[] = [
  [
    'mixpanel',
    ([user, day]) => ({
      event: 'Seen',
      properties: {
        time: Date.parse(iso(day)) / 1000,
        distinct_id: user ?? `$device:${kiosk}`,
        $device_id: kiosk,
        ...(user !== undefined && { $user_id: user }),
        $insert_id: id(day),
      },
    }),
    {},
  ],
  [
    'amplitude',
    ([user, day]) => ({
      event_type: 'Seen',
      event_time: clock(day),
      user_id: user,
      device_id: kiosk,
      $insert_id: id(day),
    }),
    {},
  ],
  [
    'ga4',
    ([user, day]) => ({
      event_name: 'Seen',
      event_date: clock(day).slice(0, 10).replaceAll('-', ''),
      event_timestamp: Date.parse(iso(day)) * 1000,
      user_id: user ?? null,
      user_pseudo_id: kiosk,
    }),
    {},
  ],
  [
    'snowplow',
    ([user, day]) => ({
      event: 'page_view',
      event_id: id(day),
      collector_tstamp: clock(day),
      domain_userid: kiosk,
      user_id: user,
    }),
    {},
  ],
  [
    'mapping',
    ([user, day]) => ({ e: 'Seen', id: id(day), u: user, d: kiosk, t: iso(day) }),
    { mapping: JSON.stringify(rules) },
  ],
  [
    'segment',
    ([user, day]) => ({
      type: user === undefined ? 'track' : 'identify',
      event: 'Seen',
      messageId: id(day),
      userId: user,
      anonymousId: kiosk,
      timestamp: iso(day),
    }),
    {},
  ],
  [
    'posthog',
    ([user, day]) => ({
      event: user === undefined ? 'Seen' : '$identify',
      uuid: `0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a${String(day).padStart(2, '0')}`,
      distinct_id: user ?? kiosk,
      timestamp: iso(day),
      properties: user === undefined ? {} : { $anon_distinct_id: kiosk, $set: { plan: 'pro' } },
    }),
    {},
  ],
];

/** u1 is first by time, but the files contain u3 and u2 first, and u1's first visit last. */
const visits: readonly Visit[] = [
  ['u3', 20],
  ['u3', 9],
  ['u2', 8],
  [undefined, 2],
  ['u1', 21],
  ['u2', 7],
  ['u1', 6],
  ['u2', 12],
  ['u1', 3],
];

/** Returns ids of the persons that an import of these records creates, loaded in the order of its days. */
async function personsOf(
  [format, recordOf, formatOptions]: (typeof formats)[number],
  {
    choice,
    threads = 1,
    seen = visits,
  }: { readonly choice?: ImportChoice; readonly threads?: number; readonly seen?: readonly Visit[] } = {},
): Promise<readonly (readonly string[])[]> {
  await using test = await checkTest({ format, formatOptions, ...(choice && { choice }) });
  const lines = seen.map((visit) => JSON.stringify(recordOf(visit)));
  await test.stage('first', lines.slice(0, 5), 2);
  await test.stage('second', lines.slice(5), 1);
  await test.check({ limits: { threadBytesMin: 1 }, threads });
  await using bench = await createBench();
  for (const event of await test.events()) await bench.append('historical', { batch: [event] });
  await bench.drain();
  const persons = new Set<string>();
  for (const each of [kiosk, 'u1', 'u2', 'u3']) {
    const person = await bench.person(each);
    if (person !== undefined) persons.add(JSON.stringify(person.distinct_ids));
  }
  return [...persons].map((ids) => JSON.parse(ids) as string[]);
}

describe('a device that several users share', () => {
  it.each(formats)(
    '%s: stays with its first user by event time, in any order and division of the records',
    async (...format) => {
      const expected = [['kiosk', 'u1'], ['u2'], ['u3']];
      expect(await personsOf(format)).toEqual(expected);
      expect(await personsOf(format, { threads: 3 })).toEqual(expected);
    },
  );

  const some = formats.filter(([format]) => ['mixpanel', 'segment', 'posthog'].includes(format));

  it.each(some)('%s: joins users that nothing else identifies, if chosen', async (...format) => {
    const seen = visits.toSorted((a, b) => a[1] - b[1]);
    expect(await personsOf(format, { choice: { identity: 'merge' }, seen })).toEqual([['kiosk', 'u1', 'u2', 'u3']]);
  });

  it.each(some)('%s: has no user, if chosen', async (...format) => {
    expect(await personsOf(format, { choice: { identity: 'never_merge' } })).toEqual([
      ['kiosk'],
      ['u1'],
      ['u2'],
      ['u3'],
    ]);
  });

  it('links that Mixpanel reports as failed join nothing', async () => {
    const [mixpanel] = formats;
    if (mixpanel === undefined) throw new Error('expected a format');
    const [slug, recordOf, options] = mixpanel;
    const failed = (visit: Visit): object => {
      const record = recordOf(visit) as { readonly properties: object };
      return { ...record, properties: { ...record.properties, $identity_failure_reason: 'a user is identified' } };
    };
    expect(await personsOf([slug, failed, options])).toEqual([['kiosk'], ['u1'], ['u2'], ['u3']]);
  });
});
