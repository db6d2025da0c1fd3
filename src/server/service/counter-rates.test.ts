import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createMetrics } from '../telemetry/metrics.ts';
import { startCounterRates } from './status.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a counter shows the increase within the last minute', async () => {
  await using parts = new AsyncDisposableStack();
  const metrics = createMetrics();
  const name = 'millrace_component_errors_total';
  const labels = { component: 'capture', error_type: 'backlog_full' };
  const rates = startCounterRates(metrics, [name], parts);
  metrics.count(name, labels, 3);
  expect(await rates.of(name)).toEqual([{ labels, total: 3, lastMinute: 3 }]);
  await vi.advanceTimersByTimeAsync(30_000);
  metrics.count(name, labels, 4);
  expect(await rates.of(name)).toEqual([{ labels, total: 7, lastMinute: 7 }]);
  await vi.advanceTimersByTimeAsync(45_000);
  expect(await rates.of(name)).toEqual([{ labels, total: 7, lastMinute: 4 }]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await rates.of(name)).toEqual([{ labels, total: 7, lastMinute: 0 }]);
});
