import { expect, it } from 'vitest';
import type { Log } from '../server/telemetry/log.ts';
import { createFailureLogs } from './failure-log.ts';

function logged() {
  const lines: unknown[] = [];
  let now = 0;
  const write = (level: string) => (fields: Record<string, unknown>, message: string) => {
    const { err: _, ...rest } = fields;
    lines.push([level, message, rest]);
  };
  const logs = createFailureLogs({ error: write('error'), info: write('info') } as unknown as Log, { now: () => now });
  return { logs, take: () => lines.splice(0), pass: (ms: number) => (now += ms) };
}

it('an unavailable server is logged once for all slots, then once a minute, and once when the last slot recovers', () => {
  const { logs, take, pass } = logged();
  const slots = [0, 1, 2].map((slot) => logs.of(slot));
  const away = new Error('away');
  for (const slot of slots) slot.failed(away);
  expect(take()).toEqual([['error', 'pipeline stalled, retrying', { slots: [0], tries: 1 }]]);
  pass(30_000);
  for (const slot of slots) slot.failed(away);
  expect(take()).toEqual([]);
  pass(30_000);
  for (const slot of slots) slot.failed(away);
  expect(take()).toEqual([['error', 'pipeline stalled, retrying', { slots: [0, 1, 2], tries: 7 }]]);
  slots[2]?.recovered();
  slots[0]?.recovered();
  expect([take(), slots[0]?.current, slots[1]?.current]).toEqual([[], '', 'Error: away']);
  slots[1]?.recovered();
  slots[1]?.recovered();
  expect(take()).toEqual([['info', 'pipeline recovered', { slot: 1, seconds: 60, tries: 9 }]]);
});

it('another failure of the same slot is logged immediately and is not a recovery', () => {
  const { logs, take } = logged();
  const slot = logs.of(5);
  slot.failed(new Error('away'));
  slot.failed(new TypeError('denied'));
  expect(take()).toEqual([
    ['error', 'pipeline stalled, retrying', { slots: [5], tries: 1 }],
    ['error', 'pipeline stalled, retrying', { slots: [5], tries: 1 }],
  ]);
  expect(slot.current).toBe('TypeError: denied');
});
