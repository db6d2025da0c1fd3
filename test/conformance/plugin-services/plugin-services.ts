import { describe } from 'vitest';
import { testErrors } from './errors.ts';
import { testLogs } from './logs.ts';
import { testMetrics } from './metrics.ts';
import { testStorage } from './storage.ts';
import type { OpenStore } from '../../support/plugin-store.ts';
import { testWindowStorage } from './window-storage.ts';

/** The promises of the plugin services on every metadata store. */
export function testPluginServices(open: OpenStore): void {
  testStorage(open);
  testWindowStorage(open);
  testLogs(open);
  testErrors(open);
  describe('metrics', () => {
    testMetrics(open);
  });
}
