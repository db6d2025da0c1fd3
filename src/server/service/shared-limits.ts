/**
 * Limits of callers that hold across processes. Each process counts in memory, so that a request costs no query, and once a second
 * all of them put their counts together in the database: beyond its limit a caller gets at most what it sends to the other
 * processes within that second.
 */
import { repeat } from '../../base/repeat.ts';
import type { SharedRateLimiter } from '../http/rate-limit.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { addCallerCounts, pruneCallerCounts } from '../../stores/metadata/rate-counts.ts';
import type { WarnLog } from '../telemetry/log.ts';

const togetherMs = 1000;
const pruneMs = 600_000;

/** `limiters` by the name under which all processes count. `parts` takes what has to be stopped. */
export function shareLimits(
  { db, log }: { readonly db: Metadata; readonly log: WarnLog },
  limiters: Readonly<Record<string, SharedRateLimiter>>,
  parts: AsyncDisposableStack,
): void {
  const stop = new AbortController();
  const onTrouble = (err: unknown): void =>
    log.warn({ err }, 'processes could not put their counts of requests together; until then each counts for itself');
  const loops = [
    repeat(togetherMs, () => putTogether(db, limiters), { signal: stop.signal, onTrouble }),
    repeat(pruneMs, () => pruneCallerCounts(db), { signal: stop.signal, onTrouble }),
  ];
  parts.defer(async () => {
    stop.abort();
    await Promise.all(loops);
  });
}

/** Tells what these limiters have counted since the last time, and lets them know of the others. */
export async function putTogether(db: Metadata, limiters: Readonly<Record<string, SharedRateLimiter>>): Promise<void> {
  for (const [scope, limiter] of Object.entries(limiters)) {
    const counts = limiter.untold();
    if (counts.length === 0) continue;
    for (const total of await addCallerCounts(db, scope, counts)) limiter.learn(total);
  }
}
