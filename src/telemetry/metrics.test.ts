import { expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';

it('what is set only when asked for is in the text; one that cannot be found out costs none of the others', async () => {
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
