import type { VerifyCell, VerifyResult } from '../../run/results.ts';
import type { Target } from '../../target.ts';
import type { Differences } from './differences.ts';

/** What came of one day. */
export interface VerifiedDay {
  readonly expected: number;
  /** Stored as expected. */
  readonly found: number;
  /** Of `found`: stored by another import or by live capture. */
  readonly byOthers: number;
  readonly cells: readonly VerifyCell[];
}

export function verifyResult(
  days: readonly VerifiedDay[],
  differences: Differences,
  transformations: readonly string[],
): VerifyResult {
  const expected = days.reduce((sum, day) => sum + day.expected, 0);
  const found = days.reduce((sum, day) => sum + day.found, 0);
  const faults = differences.faults();
  const byOthers = days.reduce((sum, day) => sum + day.byOthers, 0);
  const moved = differences.earlier();
  const kept = differences.kept();
  const sentence = faults === 0 ? exact(days, expected) : different(faults, expected, found, transformations);
  return {
    verdict: faults === 0 ? 'exact' : 'different',
    detail: sentence + ofOthers(byOthers, moved),
    expected,
    found,
    stored_by_others: byOthers,
    other_times: moved,
    cells: days.flatMap(({ cells }) => cells),
    differences: kept,
    truncated: faults + moved - kept.length,
  };
}

function ofOthers(stored: number, moved: number): string {
  if (stored === 0) return '';
  const there = ` ${stored} of them are stored by another import or by live capture, and not a second time by this run`;
  if (moved === 0) return `${there}.`;
  return `${there}; of these ${moved} keep the time that came there first, which is not the one of this run.`;
}

function exact(days: readonly VerifiedDay[], expected: number): string {
  return `All ${expected} events of ${days.length} days are stored with the id, the time and the name that they should have.`;
}

function different(count: number, expected: number, found: number, transformations: readonly string[]): string {
  const sentence = `${found} of ${expected} events are stored exactly as they were loaded; there are ${count} differences.`;
  if (transformations.length === 0) return sentence;
  return (
    `${sentence} Transformations are active in the project (${transformations.join(', ')}); they may drop or change events ` +
    'on their way into the store, which shows here as a difference.'
  );
}

/** `why`: a sentence without its full stop. */
export function unreadableResult(target: Target, expected: number, why?: string): VerifyResult {
  const noReader =
    `nobody can read back what ${target.description} stored without a personal API key; give one with the scopes ` +
    'query:read and project:read, and start the verification again';
  return {
    verdict: 'unreadable',
    detail: `The target acknowledged ${expected} events; ${why ?? noReader}.`,
    expected,
    found: 0,
    cells: [],
    differences: [],
    truncated: 0,
  };
}
