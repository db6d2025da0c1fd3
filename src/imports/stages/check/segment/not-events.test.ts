import { expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';
import type { RunOptions } from '../../../run/run.ts';
import { notEventNames } from '../../../../wire/batch/not-events.ts';

const lines = ['seen', ...notEventNames, '$pageview', ...notEventNames].map((event, n) =>
  JSON.stringify({
    uuid: `018f3a2b-4c5d-7e6f-8a9b-0000000000${10 + n}`,
    event,
    distinct_id: 'ada',
    timestamp: `2024-05-01T10:00:${10 + n}.000Z`,
    properties: { n },
  }),
);

it.each<[string, Partial<RunOptions>]>([
  ['by the fast path', {}],
  // Only the reader can apply a choice by a property.
  ['by the reader', { choice: { user_agent: true } }],
])(
  'records that are not events are skipped and counted %s, and the events around them are loaded',
  async (_path, options) => {
    await using test = await checkTest({ format: 'posthog', ...options });
    await test.stage('file', lines, 3);
    const { verdict, totals, days } = await test.check();
    expect([verdict, totals.records, totals.events, totals.rejected, totals.loaded]).toEqual(['passed', 8, 2, 0, 0]);
    expect(Object.values(totals.skipped)).toEqual([6]);
    expect(days).toEqual({ '2024-05-01': { seen: 1, $pageview: 1 } });
    expect((await test.events()).map(({ event }) => event)).toEqual(['seen', '$pageview']);
    expect(await test.rejected()).toEqual([]);
  },
);
