import { isoMicros } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { JobKind } from '../../stores/metadata/tables/plugins.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/** Finished jobs are kept this long, and at most this many per config. */
export const keptMs = 7 * 86_400_000;
export const keptPerConfigMax = 1000;
/** Failed deliveries keep their events for a manual retry, at most this many per config. */
export const failedDeliveriesMax = 100;
/** Younger ticks always stay: their rows prevent a tick from running twice. */
const tickKeptMs = 25 * 3_600_000;
/** Clocks of different machines differ by less than this. */
const clockSlackMs = 60_000;
const rowsAtOnceMax = 1000;
const finished = ['succeeded', 'failed'] as const;

/** Removes jobs that finished long ago and those beyond the limit of a config. */
export async function pruneJobs(db: Metadata, now: number): Promise<void> {
  const old = isoMicros(now - keptMs);
  await db
    .deleteFrom('jobs')
    .where('state', 'in', finished)
    // No job ends before it is due, and unlike the end this column is indexed.
    .where('run_at', '<', old)
    .where('finished_at', '<', old)
    .execute();
  await pruneBeyond(db, now, failedDeliveriesMax, 'delivery');
  await pruneBeyond(db, now, keptPerConfigMax);
}

async function pruneBeyond(db: Metadata, now: number, keep: number, kind?: JobKind): Promise<void> {
  const rows = db
    .selectFrom('jobs')
    .where('state', 'in', finished)
    .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? 'delivery'));
  const full = await rows
    .select('config_id')
    .groupBy('config_id')
    .having((eb) => eb.fn.countAll<number>(), '>', keep)
    .execute();
  for (const { config_id: configId } of full) {
    const ofConfig = rows.select('id').where('config_id', '=', configId);
    const first = await ofConfig.orderBy('id', 'desc').offset(keep).limit(1).executeTakeFirst();
    if (first === undefined) continue;
    await db
      .deleteFrom('jobs')
      .where('config_id', '=', configId)
      .where('state', 'in', finished)
      .where('id', '<=', first.id)
      .where((eb) => eb.or([eb('kind', '!=', 'scheduled'), eb('run_at', '<', isoMicros(now - tickKeptMs))]))
      .$if(kind !== undefined, (query) => query.where('kind', '=', kind ?? 'delivery'))
      .execute();
  }
}

/**
 * Repairs times after the clock was set back: earlier rows then have times in the future, and jobs would wait until the clock
 * reaches them again. Queued jobs get their own delay counted from now; leases end when a fresh one would, which gives a
 * living holder time to renew; future ticks are removed so that new ones can be planned.
 */
export async function redate(db: Metadata, now: number, leaseMs: number): Promise<void> {
  const latest = isoMicros(now + clockSlackMs);
  await db
    .updateTable('jobs')
    .set({ lease_until: isoMicros(now + leaseMs) })
    .where('state', '=', 'running')
    .where('lease_until', '>', isoMicros(now + leaseMs + clockSlackMs))
    .execute();
  await db
    .updateTable('jobs')
    .set({ unique_key: null })
    .where('state', 'in', finished)
    .where('run_at', '>', latest)
    .where('kind', '=', 'scheduled')
    .where('unique_key', 'is not', null)
    .execute();
  await redateQueued(db, now, latest);
}

async function redateQueued(db: Queries, now: number, latest: string): Promise<void> {
  for (;;) {
    const rows = await db
      .selectFrom('jobs')
      .select((eb) => ['id', 'run_at', eb.fn.coalesce('since', 'created_at').as('since')])
      .where('state', '=', 'queued')
      .where('run_at', '>', latest)
      .where((eb) => eb(eb.fn.coalesce('since', 'created_at'), '>', latest))
      .limit(rowsAtOnceMax)
      .execute();
    for (const { id, run_at: runAt, since } of rows) {
      const delayMs = Math.max(0, Date.parse(runAt) - Date.parse(since));
      await db
        .updateTable('jobs')
        .set({ run_at: isoMicros(now + delayMs), since: isoMicros(now) })
        .where('id', '=', id)
        .where('state', '=', 'queued')
        .where('run_at', '=', runAt)
        .execute();
    }
    if (rows.length < rowsAtOnceMax) return;
  }
}
