import { describe, expect, it } from 'vitest';
import type { SettingValues } from '../fields.ts';
import { sequenceTimer } from './sequence-timer.ts';
import { testHost, type Before } from '../../../test/support/transformation-host.ts';
import { transformBatch } from './transformation.fixture.ts';

const at = (event: string, seconds: number, distinct_id = 'u1'): Before => ({
  event,
  distinct_id,
  timestamp: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
});
const pairs = { eventsToTrack: '(opened,paid),(signed up,paid)' };

async function properties(before: readonly Before[], settings: SettingValues = pairs, host = testHost()) {
  const results = await transformBatch(sequenceTimer, settings, before, host);
  return results.map((result) => result?.properties);
}

describe('Event sequence timer', () => {
  it('does what its example shows', async () => {
    const { settings, before, after } = sequenceTimer.example;
    expect(await transformBatch(sequenceTimer, settings, [before])).toEqual([after]);
  });

  it('times a pair within a batch and across batches, per person', async () => {
    const host = testHost();
    expect(await properties([at('opened', 0), at('paid', 5), at('paid', 7, 'u2')], pairs, host)).toEqual([
      {},
      { time_since_opened: 5000 },
      {},
    ]);
    expect(await properties([at('signed up', 8), at('paid', 9)], pairs, host)).toEqual([
      {},
      { time_since_opened: 9000, time_since_signed_up: 1000 },
    ]);
  });

  it.each([
    ['Yes', 2000],
    ['No', 5000],
  ])('restarts with every first event: %s', async (updateTimestamp, time) => {
    const events = [at('opened', 0), at('opened', 3), at('paid', 5)];
    const [, , paid] = await properties(events, { ...pairs, updateTimestamp });
    expect(paid).toEqual({ time_since_opened: time });
  });

  it('an event paired with itself has the time since the previous one', async () => {
    const events = [at('login', 0), at('login', 4), at('login', 5)];
    expect(await properties(events, { eventsToTrack: '(login,login)' })).toEqual([
      {},
      { time_since_login: 4000 },
      { time_since_login: 1000 },
    ]);
  });

  it('does not change other events, whatever their name', async () => {
    expect(await properties([at('constructor', 0), at('toString', 1)])).toEqual([{}, {}]);
  });

  it.each(['( a , b ) , (c,d)', '(a,b),(c,d)\n'])('takes %j', async (eventsToTrack) => {
    const events = [at('a', 0), at('c', 1), at('b', 2), at('d', 3)];
    const [, , b, d] = await properties(events, { eventsToTrack });
    expect([b, d]).toEqual([{ time_since_a: 2000 }, { time_since_c: 2000 }]);
  });

  it.each(['', 'a,b', '(a,b),', '(a)', '(a,b,c)', '(a,b)(c,d)', '((a,b))', '( ,b)'])('refuses %j', (eventsToTrack) => {
    expect(() => sequenceTimer.create({ eventsToTrack }, testHost())).toThrow('setting "eventsToTrack"');
  });
});
