import { readFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';

/**
 * Adds up the closing lines of the vitest runs in a log and prints `N passed, N failed, N skipped` as the last line.
 * Fails when something failed or when nothing passed: no result is not a good result.
 */
export function testTotals(log: string): { passed: number; failed: number; skipped: number } {
  const totals = { passed: 0, failed: 0, skipped: 0 };
  let failedFiles = 0;
  for (const line of stripVTControlCharacters(log).split('\n')) {
    const [, what, counts = ''] = /^\s*(Tests|Test Files|Errors)\s{2,}(.*)$/.exec(line) ?? [];
    if (what === undefined) continue;
    const count = (word: string): number => Number(new RegExp(`(\\d+) ${word}`).exec(counts)?.[1] ?? 0);
    if (what === 'Tests') {
      totals.passed += count('passed');
      totals.failed += count('failed');
      totals.skipped += count('skipped') + count('todo');
    } else failedFiles += count('failed') + count('error');
  }
  // A file that could not be loaded has no failed test, but it is a failure all the same.
  if (totals.failed === 0) totals.failed = failedFiles;
  return totals;
}

const [path] = process.argv.slice(2);
if (path !== undefined && import.meta.main) {
  const { passed, failed, skipped } = testTotals(readFileSync(path, 'utf8'));
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (passed === 0 || failed > 0) process.exitCode = 1;
}
