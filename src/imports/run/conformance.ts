import { testWorkersClocks } from './clocks-conformance.ts';
import { testRunWriter } from './run-writer-conformance.ts';
import { testRuns } from './run-conformance.ts';
import type { OpenRunsStore } from '../../../test/support/runs.ts';

/** What import runs promise on every metadata store. Real stores only. */
export function testImportRuns(open: OpenRunsStore): void {
  testRuns(open);
  testRunWriter(open);
  testWorkersClocks(open);
}
