const byChoice = 'by choice';

/**
 * Counts skipped records, each reason once: a record whose events were all excluded counts under the reason of its first event,
 * and those reasons are listed separately, in events.
 */
export function skippedReasons(
  skipped: Readonly<Record<string, number>>,
  leftOut: Readonly<Record<string, number>>,
): readonly (readonly [reason: string, records: number])[] {
  const all = Object.entries(skipped);
  const chosen = all.filter(([reason]) => Object.hasOwn(leftOut, reason));
  const records = chosen.reduce((sum, [, count]) => sum + count, 0);
  const own = all.filter(([reason]) => !Object.hasOwn(leftOut, reason));
  return records === 0 ? own : [[byChoice, records], ...own];
}
