import { afterEach, expect, it, vi } from 'vitest';
import { createSharedMemory, sharedPositions } from '../../log/sqlite/shared-positions.ts';
import { startBacklogAges } from './backlog-ages.ts';

afterEach(() => {
  vi.useRealTimers();
});

it('the age of the oldest record counts from the first poll that found it unstored', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  await using parts = new AsyncDisposableStack();
  const memory = createSharedMemory();
  const positions = sharedPositions(memory);
  const ages = await startBacklogAges(memory, parts);
  expect(ages.seconds('live')).toBe(0);
  positions.setAppended('live', 5);
  expect(ages.seconds('live')).toBe(0);
  vi.advanceTimersByTime(10_000);
  positions.setAppended('live', 9);
  vi.advanceTimersByTime(5000);
  positions.setConsumed('live', 4);
  expect([ages.seconds('live'), ages.seconds('historical')]).toEqual([15, 0]);
  positions.setConsumed('live', 5);
  expect(ages.seconds('live')).toBe(4);
  positions.setConsumed('live', 9);
  expect(ages.seconds('live')).toBe(0);
});

it('hours of waiting need few marks, and the age is never much too low', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  await using parts = new AsyncDisposableStack();
  const memory = createSharedMemory();
  const positions = sharedPositions(memory);
  const ages = await startBacklogAges(memory, parts);
  const hours = 3 * 3600;
  for (let second = 1; second <= hours; second += 1) {
    positions.setAppended('live', second);
    vi.advanceTimersByTime(1000);
  }
  expect(ages.seconds('live')).toBe(hours - 1);
  positions.setConsumed('live', hours / 2);
  expect(ages.seconds('live')).toBeGreaterThan(hours / 2 - 60);
  expect(ages.seconds('live')).toBeLessThanOrEqual(hours / 2);
  const told = new Set<number>();
  for (let second = hours / 2; second <= hours; second += 1) {
    positions.setConsumed('live', second);
    told.add(ages.seconds('live'));
  }
  expect(told.size).toBeLessThan(3600);
});
