import { dayMs } from '../../../base/time.ts';
import type { VerifyCell } from '../../run/results.ts';
import type { StoredDay } from '../../run/import-day.ts';
import type { ExpiredBefore, StoredCount } from '../../target.ts';

type Counts = ReadonlyMap<string, StoredCount>;

/**
 * Returns what is stored of a day, with names that have expired on that day as expected: their events may have been removed, all or some
 * of them, and are not missing.
 */
export function withoutExpired(
  { day, expected }: { readonly day: Pick<StoredDay, 'day'>; readonly expected: Counts },
  stored: Counts,
  retention: ExpiredBefore | undefined,
): { readonly stored: Counts; readonly expired: readonly VerifyCell[] } {
  if (retention === undefined) return { stored, expired: [] };
  const end = Date.parse(day.day) + dayMs;
  const shown = new Map(stored);
  const expired: VerifyCell[] = [];
  for (const [event, count] of expected) {
    const found = stored.get(event)?.count ?? 0;
    const lacking = count.count - found;
    const limit = retention(event);
    if (limit === null || end > limit || lacking <= 0) continue;
    shown.set(event, count);
    expired.push({ day: day.day, event, expected: count.count, found, expired: lacking });
  }
  return { stored: shown, expired };
}
