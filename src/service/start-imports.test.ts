import { expect, it } from 'vitest';
import { hostThread } from './host-thread.ts';
import { importHealth } from './start-imports.ts';
import { createLog } from '../telemetry/log.ts';
import { createMetrics } from '../telemetry/metrics.ts';

it('says that the thread of imports is away, and that the service can do without it', () => {
  const deps = { metrics: createMetrics(), log: createLog('silent'), answers: {} };
  const thread = hostThread({ name: 'imports', entry: new URL('./import-thread.ts', import.meta.url), data: {} }, deps);
  const detail = expect.stringMatching(/thread of imports .* is being started again/) as unknown;
  expect(importHealth(thread)).toEqual({ ok: false, optional: true, detail });
});
