import { testWorkersClocks } from './clocks.ts';
import { testRunWriter } from './run-writer.ts';
import { testRuns } from './run.ts';
import type { OpenRunsStore } from '../../support/runs.ts';

/** The promises of import runs on every metadata store. Real stores only. */
export function testImportRuns(open: OpenRunsStore): void {
  testRuns(open);
  testRunWriter(open);
  testWorkersClocks(open);
}
