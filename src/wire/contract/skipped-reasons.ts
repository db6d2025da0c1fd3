const byChoice = 'by what was chosen';

/**
 * Why records were skipped, each reason once: a record of which the choice left nothing counts under the reason of its first event, and
 * those reasons have a list of their own, in events.
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
