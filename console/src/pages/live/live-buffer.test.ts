import { describe, expect, it } from 'vitest';
import type { LiveEvent } from '../../../../src/wire/contract/live-events.ts';
import { createLiveBuffer, emptyView, totalOf } from './live-buffer.ts';

const at = '2026-11-22T17:00:00.000000Z';
function message(event: string, more: Partial<LiveEvent> = {}): string {
  const ends = { reason: null, detail: null, dead_letter: null, before: null, steps: null };
  const times = { at, received_at: at, timestamp: at };
  const shown = { stage: 'stored', uuid: null, event, distinct_id: 'ada', properties: {} };
  return JSON.stringify({ ...shown, ...times, ...ends, historical_migration: false, ...more });
}

describe('the live buffer', () => {
  it('keeps the newest rows, newest first, and counts all others', () => {
    const buffer = createLiveBuffer({ rowsMax: 100 });
    for (let i = 1; i <= 10_000; i += 1) buffer.add(message(`event ${i}`));
    buffer.skip(JSON.stringify({ rate: { stored: 40, received: 2 }, slow: { stored: 7 } }));
    const { rows, seen, notShown } = buffer.view();
    expect([rows.length, rows[0]?.event.event, rows.at(-1)?.event.event]).toEqual([100, 'event 10000', 'event 9901']);
    expect(notShown).toEqual({ rate: 42, slow: 7, older: 9_900 });
    expect([seen.stored, seen.received]).toEqual([10_047, 2]);
    expect(rows.length + notShown.rate + notShown.slow + notShown.older).toBe(totalOf(seen));
  });

  it('is limited in size too: large events evict more rows', () => {
    const large = message('large', { properties: { text: 'x'.repeat(1000) } });
    const buffer = createLiveBuffer({ rowsMax: 100, charsMax: 10 * large.length });
    for (let i = 0; i < 50; i += 1) buffer.add(large);
    expect([buffer.view().rows.length, buffer.view().notShown.older]).toEqual([10, 40]);
  });

  it('returns the same view until something changes, to avoid needless renders', () => {
    const buffer = createLiveBuffer();
    expect(buffer.view()).toBe(emptyView);
    buffer.add(message('a'));
    const view = buffer.view();
    expect(buffer.view()).toBe(view);
    buffer.add(message('b'));
    expect([view.rows.length, buffer.view().rows.length]).toEqual([1, 2]);
  });
});
