import { expect, it } from 'vitest';
import { storedBy } from './verify-stage.ts';

it('earlier copies of events are counted over all days, by run and for live capture, with what is known about the runs', async () => {
  const days = [
    {
      byOthers: new Map([
        ['run-a', 2],
        ['', 1],
      ]),
    },
    {
      byOthers: new Map([
        ['run-a', 3],
        ['elsewhere', 4],
      ]),
    },
    { byOthers: new Map<string, number>() },
  ];
  const queries: string[][] = [];
  const found = await storedBy(days, async (ids) => {
    queries.push([...ids]);
    return [{ id: 'run-a', source: 'files', created_at: '2026-11-20T10:00:00.000000Z' }];
  });
  expect(queries).toEqual([['run-a', 'elsewhere']]);
  expect(found).toEqual([
    { run: 'run-a', source: 'files', created_at: '2026-11-20T10:00:00.000000Z', events: 5 },
    { run: 'elsewhere', source: null, created_at: null, events: 4 },
    { run: null, source: null, created_at: null, events: 1 },
  ]);
});
