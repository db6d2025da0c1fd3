import { testRunnersClocks } from './clocks.ts';
import { testFlows } from './flow.ts';
import { testPruneJobs } from './prune-jobs.ts';
import { testQueue } from './queue.ts';
import type { OpenStore } from '../../support/jobs.ts';

/** The promises of jobs on every metadata store. Real stores only. */
export function testJobs(open: OpenStore): void {
  testQueue(open);
  testFlows(open);
  testPruneJobs(open);
  testRunnersClocks(open);
}
