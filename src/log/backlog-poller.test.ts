import { expect, it } from 'vitest';
import { createBacklogPoller, type BacklogPoller } from './backlog-poller.ts';

/** One slot, whose end all processes know. */
async function pollerOf(
  end: number,
  own: readonly (readonly [projectId: number, records: number])[],
): Promise<BacklogPoller> {
  const poller = createBacklogPoller({
    source: {
      ends: async () => ({ live: new Map([[0, end]]), historical: new Map() }),
      sample: async () => ({ events: 10, bytes: 100 }),
    },
    cursors: async () => ({ live: new Map(), historical: new Map() }),
    onEnd: () => undefined,
  });
  let seq = 0;
  for (const [projectId, records] of own) {
    for (let n = 0; n < records; n += 1) poller.appended('live', 0, { seq: ++seq, projectId, events: 10, bytes: 100 });
  }
  await poller.poll();
  return poller;
}

it('the backlog of a project that sends to all processes is estimated from its part in this one', async () => {
  // Four processes with 100 records each, of which project 1 sent three quarters.
  const poller = await pollerOf(400, [
    [1, 75],
    [2, 25],
  ]);
  expect(poller.backlogOf('live', 1, 4)).toEqual({ records: 300, events: 3000, bytes: 30_000 });
  expect(poller.backlogOf('live', 2, 4)).toEqual({ records: 100, events: 1000, bytes: 10_000 });
  expect(poller.backlogOf('live', 1, 1)).toEqual({ records: 75, events: 750, bytes: 7500 });
  expect(poller.backlogOf('live', 3, 4)).toEqual({ records: 0, events: 0, bytes: 0 });
});

it('a project is not charged for what another one sent through other processes', async () => {
  // Project 2 sends a single request through this process; 10,000 records of others wait in the slot.
  const poller = await pollerOf(10_001, [[2, 1]]);
  expect(poller.backlogOf('live', 2, 4)).toEqual({ records: 4, events: 40, bytes: 400 });
});

it('a project that sends to one process only is charged for what it sent', async () => {
  const poller = await pollerOf(1000, [[1, 1000]]);
  expect(poller.backlogOf('live', 1, 4)).toEqual({ records: 1000, events: 10_000, bytes: 100_000 });
});
