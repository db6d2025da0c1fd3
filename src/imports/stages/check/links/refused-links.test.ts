import { describe, expect, it } from 'vitest';
import { checkTest } from '../../../../../test/support/check-stage.ts';

const record = {
  event_type: 'Seen',
  event_time: '2024-05-01 10:00:00',
  user_id: 'u1',
  device_id: 'd1',
  uuid: '0198a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a00',
};
const groups = { group_properties: { company: { acme: { seats: 1 } } } };
const future = { event_time: '2026-12-24 00:00:00' };
const alone = { event_type: '$groupidentify' };

const cases: readonly (readonly [name: string, more: object, events: readonly string[]])[] = [
  ['an event that is rejected for its name', { event_type: 'x'.repeat(300) }, ['$identify']],
  ['an event and its link', future, []],
  ['an event, its link and facts about a group', { ...future, ...groups }, []],
  ['a link and facts about a group, without an event', { ...future, ...groups, ...alone }, []],
];

describe('a rejected record', () => {
  it.each(cases)('counts once: %s', async (_name, more, events) => {
    await using test = await checkTest({ format: 'amplitude' });
    await test.stage('only', [JSON.stringify({ ...record, ...more })], 10);
    const { totals, errors } = await test.check();
    expect((await test.events()).map(({ event }) => event)).toEqual(events);
    expect(totals).toMatchObject({
      records: 1,
      converted: 1,
      rejected: 1,
      rejected_events: 1,
      events: events.length + 1,
    });
    expect(errors.map(({ count }) => count)).toEqual([1]);
    expect(await test.rejected()).toHaveLength(1);
  });
});
