import { describe, expect, it } from 'vitest';
import { liveStages } from '../../wire/contract/live-events.ts';
import { LiveHub } from './hub.ts';
import type { Watch } from './watch.ts';

const wanted = {
  projectId: 7,
  stages: liveStages,
  event: undefined,
  distinctId: undefined,
  steps: false,
  perSecond: 100,
} satisfies Omit<Watch, 'id'>;

describe('the readers of the live stream', () => {
  it('a source gets the watches immediately and after every change, until it is removed', () => {
    const hub = new LiveHub();
    const told: number[] = [];
    const first = hub.open(wanted);
    const forget = hub.addSource((watches) => void told.push(watches.length));
    const second = hub.open(wanted);
    second.close();
    second.close();
    forget();
    first.close();
    expect(told).toEqual([1, 2, 1]);
  });

  it('a slow reader loses the newest messages, with a count, and does not affect other readers', () => {
    const hub = new LiveHub();
    const slow = hub.open(wanted).reader;
    const quick = hub.open(wanted).reader;
    let taken = 0;
    for (let at = 0; at < 1200; at++) {
      hub.deliver({ seen: [{ stage: 'stored', watches: [1, 2], json: String(at) }], skipped: [] });
      taken += quick.take().length;
    }
    const waiting = slow.take();
    expect([waiting.length, waiting[0], waiting.at(-1)]).toEqual([1000, '0', '999']);
    expect(slow.takeSkipped()).toEqual({ rate: {}, slow: { stored: 200 } });
    expect([taken, quick.takeSkipped()]).toEqual([1200, undefined]);
  });

  it('the buffer of a reader also has a limit in bytes', () => {
    const hub = new LiveHub();
    const { reader } = hub.open(wanted);
    const json = 'x'.repeat(100_000);
    for (let at = 0; at < 100; at++) hub.deliver({ seen: [{ stage: 'received', watches: [1], json }], skipped: [] });
    expect(reader.take().length).toBeLessThan(50);
    expect(reader.takeSkipped()?.slow.received).toBeGreaterThan(50);
  });

  it('the counts of a source and of the reader are separate', () => {
    const hub = new LiveHub();
    const { reader } = hub.open(wanted);
    hub.deliver({ seen: [], skipped: [{ watch: 1, stage: 'stored', count: 3 }] });
    hub.deliver({ seen: [], skipped: [{ watch: 1, stage: 'stored', count: 4 }] });
    expect(reader.takeSkipped()).toEqual({ rate: { stored: 7 }, slow: {} });
  });
});
