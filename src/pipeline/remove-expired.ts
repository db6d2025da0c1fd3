/** Removes events that are older than their project keeps them, once a night, one month after another. */
import { isoMicros } from '../base/clock.ts';
import { repeat } from '../base/repeat.ts';
import { dayMs, hourMs, minuteMs, startOfDay } from '../base/time.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../base/ids.ts';
import type { EventStore } from '../stores/events/eventstore.ts';
import { addRemoved, nothingRemoved, type ProjectExpiry, type RemovedRows } from '../stores/events/expired-rows.ts';
import { monthsWithExpired } from '../stores/events/expired-counts.ts';
import { expiryOf, keepsAll } from '../stores/events/retention-policy.ts';
import type { DatabaseClock } from '../stores/metadata/database-clock.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import { holdLease } from '../stores/metadata/named-leases.ts';
import { listPolicies, recordPass, type StoredPolicy } from '../stores/metadata/retention-policies.ts';
import type { Log } from '../server/telemetry/log.ts';
import type { Metrics } from '../server/telemetry/metrics.ts';

export interface RemoveExpiredDeps {
  readonly db: Metadata;
  readonly store: Pick<EventStore, 'query' | 'removeExpired'>;
  readonly clock: DatabaseClock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Hour of the day (UTC) from which expired events are removed. */
  readonly hour: number;
  readonly signal: AbortSignal;
}

const checkEveryMs = minuteMs;
const leaseMs = minuteMs;
/** The store has at least as much time for other work as a rewrite took, but at most this. */
const restMsMax = minuteMs;

/** Returns the start of the latest night at a time: that hour of the day. ms since the epoch. */
export function nightBefore(now: number, hour: number): number {
  const today = startOfDay(now) + hour * hourMs;
  return today <= now ? today : today - dayMs;
}

/** Returns when a policy is applied next; a missed night is made up for immediately. */
export function nextPassAt({ passedAt }: Pick<StoredPolicy, 'passedAt'>, now: number, hour: number): number {
  const night = nightBefore(now, hour);
  return passedAt < night ? now : night + dayMs;
}

/** Checks every minute for a pass that is due. Ends when aborted; never rejects. */
export function removeExpiredNightly(deps: RemoveExpiredDeps): Promise<void> {
  const { log, metrics, signal } = deps;
  const onTrouble = (err: unknown): void => log.warn({ err }, 'failed to remove expired events, retrying');
  const check = async (): Promise<void> => {
    try {
      await removeExpiredIfDue(deps);
    } catch (error) {
      if (!signal.aborted) metrics.count('millrace_retention_passes_total', { outcome: 'failed' });
      throw error;
    }
  };
  return repeat(checkEveryMs, check, { signal, onTrouble });
}

/**
 * Does the pass of the latest night if it is not done. One process of the service does it, under a lease. After an interruption
 * the next pass finds what remains: the store itself shows which months have expired rows.
 * @returns what was removed; `undefined` if no pass was due, another process does it, or it was interrupted
 */
export async function removeExpiredIfDue(deps: RemoveExpiredDeps): Promise<RemovedRows | undefined> {
  const { db, clock, hour, log, signal } = deps;
  if (!(await isDue(deps))) return undefined;
  const stop = new AbortController();
  const release = await holdLease(
    {
      db,
      clock,
      leaseMs,
      onLost: () => stop.abort(),
      onTrouble: (err) => log.warn({ err }, 'failed to renew the lease on the removal of expired events, retrying'),
    },
    { name: 'retention', owner: newId() },
  );
  if (release === undefined) return undefined;
  try {
    // Another process may have done it in the meantime.
    if (!(await isDue(deps))) return undefined;
    return await pass(
      { ...deps, signal: AbortSignal.any([signal, stop.signal]) },
      nightBefore(await clock.now(), hour),
    );
  } finally {
    await release();
  }
}

async function isDue({ db, clock, hour }: RemoveExpiredDeps): Promise<boolean> {
  const night = nightBefore(await clock.now(), hour);
  return (await listPolicies(db)).some(({ policy, passedAt }) => passedAt < night && !keepsAll(policy));
}

async function pass(deps: RemoveExpiredDeps, night: number): Promise<RemovedRows | undefined> {
  const { db, store, clock, log, metrics, signal } = deps;
  const startedAt = await clock.now();
  const begun = performance.now();
  const policies = await activePolicies(db);
  const months = await monthsWithExpired(store, expiriesOf(policies, night));
  let removed = nothingRemoved;
  for (const month of months) {
    if (signal.aborted) return undefined;
    // Read again: a policy that keeps more from now on must not lose what it keeps.
    const expiries = expiriesOf(await activePolicies(db), night);
    const monthBegun = performance.now();
    const ofMonth = await store.removeExpired(month, expiries);
    removed = addRemoved(removed, ofMonth);
    metrics.count('millrace_retention_rows_total', { how: 'dropped' }, ofMonth.droppedRows);
    metrics.count('millrace_retention_rows_total', { how: 'deleted' }, ofMonth.deletedRows);
    if (ofMonth.deletedRows > 0) await rest(performance.now() - monthBegun, signal);
  }
  if (signal.aborted) return undefined;
  await recordPass(
    db,
    policies.map(({ projectId }) => projectId),
    {
      started_at: isoMicros(startedAt),
      ended_at: isoMicros(await clock.now()),
      dropped_rows: removed.droppedRows,
      deleted_rows: removed.deletedRows,
      bytes: removed.bytes,
    },
  );
  metrics.count('millrace_retention_passes_total', { outcome: 'done' });
  const { droppedRows: dropped_rows, droppedParts: dropped_parts, deletedRows: deleted_rows, bytes } = removed;
  const figures = { dropped_rows, dropped_parts, deleted_rows, bytes };
  const took_ms = Math.round(performance.now() - begun);
  log.info({ projects: policies.length, months: months.length, ...figures, took_ms }, 'removed expired events');
  return removed;
}

async function activePolicies(db: Metadata): Promise<StoredPolicy[]> {
  return (await listPolicies(db)).filter(({ policy }) => !keepsAll(policy));
}

function expiriesOf(policies: readonly StoredPolicy[], night: number): ProjectExpiry[] {
  return policies.map(({ projectId, policy }) => expiryOf(projectId, policy, night));
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, restMsMax), undefined, { signal, ref: false }).catch(() => undefined);
}
