import { describe } from 'vitest';
import { testErrors } from './errors-conformance.ts';
import { testLogs } from './logs-conformance.ts';
import { testMetrics } from './metrics-conformance.ts';
import { testStorage } from './storage-conformance.ts';
import type { OpenStore } from './store.fixture.ts';
import { testWindowStorage } from './window-storage-conformance.ts';

/** What the services for plugins promise on every metadata store. */
export function testPluginServices(open: OpenStore): void {
  testStorage(open);
  testWindowStorage(open);
  testLogs(open);
  testErrors(open);
  describe('metrics', () => {
    testMetrics(open);
  });
}
