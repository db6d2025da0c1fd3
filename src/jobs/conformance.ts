import { testRunnersClocks } from './clocks-conformance.ts';
import { testFlows } from './flow-conformance.ts';
import { testPruneJobs } from './prune-jobs-conformance.ts';
import { testQueue } from './queue-conformance.ts';
import type { OpenStore } from '../../test/support/jobs.ts';

/** What jobs promise on every metadata store. Real stores only. */
export function testJobs(open: OpenStore): void {
  testQueue(open);
  testFlows(open);
  testPruneJobs(open);
  testRunnersClocks(open);
}
