import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';
import type { RunOptions } from '../../../run/run.ts';

const time = '2024-05-01T10:00:00.000Z';
const mapping = JSON.stringify({ event: 'e', distinct_id: 'u', timestamp: 't' });
const sources: readonly (readonly [string, (name: string) => object, Record<string, string>])[] = [
  ['mapping', (e) => ({ e, u: 'ada', t: time }), { mapping }],
  ['mixpanel', (event) => ({ event, properties: { distinct_id: 'ada', time: Date.parse(time) / 1000 } }), {}],
  ['segment', (event) => ({ type: 'track', event, userId: 'ada', timestamp: time }), {}],
  [
    'ga4',
    (name) => ({
      event_name: name,
      event_date: '20240501',
      event_timestamp: Date.parse(time) * 1000,
      user_pseudo_id: 'd',
    }),
    {},
  ],
];

type Files = readonly (readonly string[])[];
/** Event names of each file. */
const files: Files = [
  ['a', 'a', 'b', 'a'],
  ['a', 'c', 'a'],
  ['b', 'a', 'a', 'a', 'c'],
];

async function idsOf(
  [format, recordOf, formatOptions]: (typeof sources)[number],
  names: Files,
  { threads = 1, choice }: { readonly threads?: number; readonly choice?: RunOptions['choice'] } = {},
): Promise<readonly string[]> {
  await using test = await checkTest({ format, formatOptions, ...(choice && { choice }) });
  for (const [index, file] of names.entries()) {
    await test.stage(
      `file ${index}`,
      file.map((name) => JSON.stringify(recordOf(name))),
      2,
    );
  }
  await test.check({ limits: { threadBytesMin: 1 }, threads });
  return (await test.events()).map(({ uuid }) => uuid).toSorted();
}

describe('records without an id', () => {
  it.each(sources)('%s: have the same ids however files are grouped into runs', async (...source) => {
    const alone = await Promise.all(files.map((file) => idsOf(source, [file])));
    const expected = [...new Set(alone.flat())].toSorted();
    // Three of a, the most in one file; one of b and one of c.
    expect(expected).toHaveLength(5);
    expect(await idsOf(source, files)).toEqual(expected);
    expect(await idsOf(source, files.toReversed(), { threads: 3 })).toEqual(expected);
    expect(await idsOf(source, files, { choice: { user_agent: true } })).toEqual(expected);
  });
});
