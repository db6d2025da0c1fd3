import { newId } from '../../base/ids.ts';
import { repeat } from '../../base/repeat.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { dropLease, takeLease } from '../../stores/metadata/named-leases.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { WarnLog } from '../../server/telemetry/log.ts';
import { forgetConditions, settleConditions } from './conditions.ts';
import { findConditions, type ConditionLimits, type ServiceFacts } from './find-conditions.ts';
import { pruneDeliveries } from './outbox.ts';

interface WatchConditionsDeps extends ServiceFacts {
  readonly db: Metadata;
  readonly clock: DatabaseClock;
  readonly limits: ConditionLimits;
  readonly log: WarnLog;
  /** Aborting ends the loop after the current check. */
  readonly signal: AbortSignal;
  /** Interval in ms, default 10,000. */
  readonly pollMs?: number;
}

const leaseMs = 60_000;

/** Checks conditions repeatedly and reports changes, in one process at a time. Resolves after the signal. */
export async function watchConditions(deps: WatchConditionsDeps): Promise<void> {
  const { db, clock, log, signal, pollMs = 10_000 } = deps;
  const lease = { name: 'notices', owner: newId() };
  const onTrouble = (err: unknown): void => log.warn({ err }, 'failed to check notification conditions; retrying');
  await repeat(
    pollMs,
    async () => {
      const now = await clock.now();
      if (!(await takeLease(db, lease, now, leaseMs))) return;
      await pruneDeliveries(db, now);
      if (await hasListener(db)) await settleConditions(db, await findConditions(deps, now), now);
      else await forgetConditions(db);
    },
    { signal, onTrouble },
  );
  await dropLease(db, lease).catch(onTrouble);
}

async function hasListener(db: Queries): Promise<boolean> {
  const query = db.selectFrom('notice_destinations').select('id').where('enabled', '=', 1).limit(1);
  return (await query.executeTakeFirst()) !== undefined;
}
