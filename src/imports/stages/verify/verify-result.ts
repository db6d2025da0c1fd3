import { counted, integer, plural } from '../../../base/integer-text.ts';
import { fieldWords, type AdviceWords } from '../../run/advice-words.ts';
import type { VerifyCell, VerifyResult } from '../../run/results.ts';
import type { Target } from '../../target.ts';
import type { Differences } from './differences.ts';

/** The result of one day. */
export interface VerifiedDay {
  readonly expected: number;
  /** Events stored as expected. */
  readonly found: number;
  /** Of `found`, events stored by another import, by its run; by live capture under an empty name. */
  readonly byOthers: ReadonlyMap<string, number>;
  /** Of `byOthers`, events with other properties. */
  readonly otherProperties: number;
  /** Of `found`, events with properties that transformations may have changed; all of a name and day if one of them differs. */
  readonly transformed: number;
  /** Of `expected`, events that the retention of the project has removed. */
  readonly expired: number;
  /** Whether properties were compared. */
  readonly isWhole: boolean;
  readonly cells: readonly VerifyCell[];
}

/** Transformations that may change events before they are stored. */
export interface ActiveTransformations {
  readonly count: number;
  /** Empty if only their number is known. */
  readonly names: readonly string[];
}

export function verifyResult(
  days: readonly VerifiedDay[],
  differences: Differences,
  active: ActiveTransformations,
): VerifyResult {
  const sum = (of: (day: VerifiedDay) => number): number => days.reduce((total, day) => total + of(day), 0);
  const expected = sum((day) => day.expected);
  const found = sum((day) => day.found);
  const faults = differences.faults();
  const byOthers = sum((day) => day.byOthers.values().reduce((all, count) => all + count, 0));
  const otherProperties = sum((day) => day.otherProperties);
  const transformed = sum((day) => day.transformed);
  const expired = sum((day) => day.expired);
  const isWhole = transformed === 0 && days.every((day) => day.isWhole);
  const moved = differences.earlier();
  const kept = differences.kept();
  const sentence =
    faults > 0
      ? different(faults, expected, found, active)
      : isWhole
        ? `${stored(days, expected - expired)}, name and properties.`
        : `${stored(days, expected - expired)} and name; ${whyById(transformed, active)}.`;
  return {
    verdict: faults > 0 ? 'different' : isWhole ? 'exact' : 'exact_by_id',
    detail: sentence + ofOthers(byOthers, moved, otherProperties) + ofExpired(expired),
    expected,
    found,
    stored_by_others: byOthers,
    other_times: moved,
    other_properties: otherProperties,
    transformed,
    ...(expired > 0 && { expired }),
    cells: days.flatMap(({ cells }) => cells),
    differences: kept,
    truncated: faults + moved - kept.length,
  };
}

function ofExpired(expired: number): string {
  if (expired === 0) return '';
  return ` ${counted(expired, 'other event')} ${plural(expired, 'has', 'have')} expired: the project keeps historical events for fewer days.`;
}

function ofOthers(stored: number, moved: number, otherProperties: number): string {
  if (stored === 0) return '';
  const others = ` ${integer(stored)} of them are stored by another import or by live capture, and not a second time by this run`;
  const kept = [
    ...(moved === 0 ? [] : [`${integer(moved)} keep the time that was stored first, which differs from this run's`]),
    ...(otherProperties === 0 ? [] : [`${integer(otherProperties)} keep the properties that were stored first`]),
  ];
  return kept.length === 0 ? `${others}.` : `${others}; of these ${kept.join(', ')}.`;
}

function stored(days: readonly VerifiedDay[], expected: number): string {
  if (expected === 0) return 'No event is left to compare by id, time';
  if (expected === 1) return 'The event is stored with the expected id, time';
  return `All ${integer(expected)} events of ${counted(days.length, 'day')} are stored with the expected id, time`;
}

function whyById(transformed: number, active: ActiveTransformations): string {
  if (transformed === 0) {
    return 'their properties were not compared, because the target, or the version that checked them, has no checksum of them';
  }
  return `${integer(transformed)} of them may have other properties than were sent: transformations are active in the project${listed(active)}`;
}

function listed({ names }: ActiveTransformations): string {
  return names.length === 0 ? '' : ` (${names.join(', ')})`;
}

function different(count: number, expected: number, found: number, active: ActiveTransformations): string {
  const sentence = `${integer(found)} of ${counted(expected, 'event')} ${plural(found, 'is', 'are')} stored exactly as loaded; found ${counted(count, 'difference')}.`;
  if (active.count === 0) return sentence;
  return (
    `${sentence} Transformations are active in the project${listed(active)}; they may drop or change events ` +
    'before they are stored, which shows here as a difference.'
  );
}

/** `why` is a sentence without its full stop. */
export function unreadableResult(
  target: Target,
  expected: number,
  { why, words = fieldWords }: { readonly why?: string; readonly words?: AdviceWords | undefined },
): VerifyResult {
  const noReader =
    `reading back what ${target.description} stored requires a personal API key; give one with the scopes ` +
    `query:read and project:read, and ${words.compareAgain}`;
  return {
    verdict: 'unreadable',
    detail: `The target acknowledged ${counted(expected, 'event')}; ${why ?? noReader}.`,
    expected,
    found: 0,
    cells: [],
    differences: [],
    truncated: 0,
  };
}
