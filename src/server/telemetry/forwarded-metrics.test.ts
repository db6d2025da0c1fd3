import { expect, it } from 'vitest';
import { applyForwarded, forwardMetrics, type MetricMessage } from './forwarded-metrics.ts';
import { createMetrics } from './metrics.ts';

it('values of a thread arrive once in the registry of the main thread', async () => {
  const sent: MetricMessage[] = [];
  const thread = forwardMetrics({
    postMessage: (message: { metrics: MetricMessage[] }) => void sent.push(...message.metrics),
  });
  thread.count('millrace_ingestion_warnings_total', { type: 'missing_distinct_id' }, 2);
  thread.count('millrace_ingestion_warnings_total', { type: 'missing_distinct_id' });
  thread.set('millrace_source_lag_seconds', { lane: 'live' }, 5);
  thread.set('millrace_source_lag_seconds', { lane: 'live' }, 3);
  thread.observe('millrace_store_insert_seconds', {}, 0.2);
  thread.flush();
  thread.flush();
  const main = createMetrics();
  applyForwarded(main, sent);
  const text = await main.text();
  expect(text).toContain('millrace_ingestion_warnings_total{type="missing_distinct_id"} 3');
  expect(text).toContain('millrace_source_lag_seconds{lane="live"} 3');
  expect(text).toContain('millrace_store_insert_seconds_count 1');
});
