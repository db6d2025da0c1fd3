import { expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';

it('values set on demand are in the text; one that fails does not affect the others', async () => {
  const metrics = createMetrics();
  let waiting = 1;
  metrics.beforeText(async () => {
    throw new Error('the metadata store does not answer');
  });
  metrics.beforeText(async () => metrics.set('millrace_import_runs_waiting', {}, waiting));
  expect(await metrics.text()).toContain('millrace_import_runs_waiting 1');
  waiting = 2;
  expect(await metrics.text()).toContain('millrace_import_runs_waiting 2');
});

it('counts and times are separated by labels; the buckets of a histogram add up', async () => {
  const metrics = createMetrics();
  expect(await metrics.text()).toContain('millrace_slots_lost_total 0');
  for (const status of ['200', '404', '200']) {
    metrics.count('millrace_http_requests_total', { route: '/a "b" \\\n', method: 'GET', status });
  }
  metrics.count('millrace_slots_lost_total', {}, 2);
  for (const seconds of [0.0005, 0.001, 0.3, 9]) {
    metrics.observe('millrace_http_request_seconds', { route: '/"', method: 'GET' }, seconds);
  }
  metrics.observe('millrace_store_insert_seconds', {}, 0.02);
  const lines = (await metrics.text()).split('\n').filter((line) => !line.startsWith('#'));
  expect(lines.filter((line) => /_http_requests_total|_slots_lost/.test(line))).toEqual([
    'millrace_slots_lost_total 2',
    'millrace_http_requests_total{route="/a \\"b\\" \\\\\\n",method="GET",status="200"} 2',
    'millrace_http_requests_total{route="/a \\"b\\" \\\\\\n",method="GET",status="404"} 1',
  ]);
  const own = 'route="/\\"",method="GET"';
  expect(lines.filter((line) => line.includes('_http_request_seconds'))).toEqual([
    ...['0.001', '0.005', '0.01', '0.05', '0.1'].map(
      (le) => `millrace_http_request_seconds_bucket{le="${le}",${own}} 2`,
    ),
    ...['0.5', '1', '5'].map((le) => `millrace_http_request_seconds_bucket{le="${le}",${own}} 3`),
    `millrace_http_request_seconds_bucket{le="+Inf",${own}} 4`,
    `millrace_http_request_seconds_sum{${own}} ${0.0005 + 0.001 + 0.3 + 9}`,
    `millrace_http_request_seconds_count{${own}} 4`,
  ]);
  expect(lines).toContain('millrace_store_insert_seconds_bucket{le="0.025"} 1');
  expect(lines).toContain('millrace_store_insert_seconds_count 1');
  expect(await metrics.values('millrace_slots_lost_total')).toEqual([{ labels: {}, value: 2 }]);
  expect(() => metrics.count('millrace_slots_lost_total', {}, Number.NaN)).toThrow('to grow by a number');
});
