import { expect, it } from 'vitest';
import type { ProfileEvent } from '../../stores/events/profile-reads.ts';
import { eventPages } from './event-pages.ts';

/** Reads so many events with properties of this size; returns the limits of the pages. */
async function limitsFor(count: number, chars: number): Promise<readonly number[]> {
  const properties = 'x'.repeat(chars);
  const events = Array.from({ length: count }, (_, micros): ProfileEvent => ({
    receivedAt: 0,
    micros,
    rank: 1,
    uuid: '',
    distinctId: 'ada',
    event: 'visit',
    day: '2024-01-01',
    properties,
  }));
  const limits: number[] = [];
  const read: number[] = [];
  const pages = eventPages(async ({ after, limit }) => {
    limits.push(limit);
    const from = after === undefined ? 0 : after.micros + 1;
    return events.slice(from, from + limit);
  });
  for await (const { micros } of pages) read.push(micros);
  expect(read).toEqual(events.map(({ micros }) => micros));
  return limits;
}

it('small events are read in few large pages, each event once', async () => {
  expect(await limitsFor(50_000, 10)).toEqual([500, 20_000, 20_000, 20_000]);
  expect(await limitsFor(500, 10)).toEqual([500, 20_000]);
  expect(await limitsFor(0, 10)).toEqual([500]);
});

it('large events are read in pages that fit into memory', async () => {
  expect(await limitsFor(1000, 65_536)).toEqual([500, 256, 256]);
  expect(await limitsFor(700, 1_000_000)).toEqual([500, 100, 100, 100]);
});
