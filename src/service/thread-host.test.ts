import { describe, expect, it } from 'vitest';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { deathsBefore, hostThread } from './thread-host.ts';
import type { ThreadData } from './thread.ts';

it('a thread that has not begun yet does not hold up the stop', async () => {
  // As one whose stores are away.
  const entry = new URL('data:text/javascript,setInterval(() => {}, 1000); await new Promise(() => {})');
  const deps = { metrics: createMetrics(), log: createLog('silent'), answers: {} };
  const host = hostThread({ name: 'pipeline', entry, data: {} as ThreadData }, deps);
  host.start();
  await host.stop();
  expect(await host.health()).toMatchObject({ ok: false });
});

describe('the count of deaths that the wait before a restart grows with', () => {
  it.each([
    ['goes on when the thread died at once', 3, 0, 3],
    ['goes on when the thread lived a minute', 3, 60_000, 3],
    ['starts anew when the thread lived longer than a minute', 3, 60_001, 0],
    ['is zero for the first thread', 0, 5, 0],
  ])('%s', (_name, deaths, livedMs, expected) => {
    expect(deathsBefore(deaths, livedMs)).toBe(expected);
  });
});
