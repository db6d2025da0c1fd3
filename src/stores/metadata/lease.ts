/**
 * Leases on rows that several workers share: one worker at a time claims a row, renews its lease while it works, and releases it. The
 * fence is the epoch (column `attempts`): every claim increases it and every write of the holder requires it, so that a worker that
 * lost the row cannot change anything, however late.
 */
import { setTimeout } from 'node:timers/promises';
import { expressionBuilder, type Expression, type SqlBool } from 'kysely';
import { isoMicros } from '../../base/clock.ts';

interface LeasedRow {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly lease_until: string | null;
}

export interface Lease {
  readonly id: string;
  readonly epoch: number;
}

const claimTriesMax = 20;
const row = expressionBuilder<{ row: LeasedRow }, 'row'>();

/** Returns the condition for every write of a holder. On PostgreSQL the write locks the row until the transaction ends. */
export function isHeld({ id, epoch }: Lease): Expression<SqlBool> {
  return row.and([row('id', '=', id), row('state', '=', 'running'), row('attempts', '=', epoch)]);
}

/** Returns the condition for rows held by a worker that died. */
export function isExpired(now: number): Expression<SqlBool> {
  return row.and([row('state', '=', 'running'), row('lease_until', '<', isoMicros(now))]);
}

/** Returns the condition that no worker has claimed the row or renewed its lease since it was found. */
export function isStill({ id, attempts, lease_until: until }: Omit<LeasedRow, 'state'>): Expression<SqlBool> {
  const unchanged =
    until === null
      ? row('state', '=', 'queued')
      : row.and([row('state', '=', 'running'), row('lease_until', '=', until)]);
  return row.and([row('id', '=', id), row('attempts', '=', attempts), unchanged]);
}

/** Returns the columns that a claim writes. */
export function claimed({ attempts }: Pick<LeasedRow, 'attempts'>, now: number, leaseMs: number) {
  return { state: 'running', attempts: attempts + 1, lease_until: isoMicros(now + leaseMs) } as const;
}

/** Claims a row; if another worker is faster, tries the next one. Returns undefined if there is nothing to claim. */
export async function claimNext<Found, Claim>(
  find: () => Promise<Found | undefined>,
  take: (found: Found) => Promise<Claim | undefined>,
): Promise<Claim | undefined> {
  for (let tries = 0; tries < claimTriesMax; tries += 1) {
    const found = await find();
    if (found === undefined) return undefined;
    const claim = await take(found);
    if (claim !== undefined) return claim;
  }
  return undefined;
}

export interface KeepLeaseDeps {
  readonly leaseMs: number;
  /** Extends the lease, three times as often as needed. Resolves with false if it is lost. */
  readonly renew: () => Promise<boolean>;
  /** Checks in between, every `checkMs`, whether the lease is still held. */
  readonly check?: { readonly checkMs: number; readonly isHeld: () => Promise<boolean> };
  /** Time without a renewal after which the lease counts as lost; default: only when the store reports it. */
  readonly lostAfterMs?: number;
  readonly onLost: () => void;
  /** Called for the first of consecutive failures. */
  readonly onTrouble: (error: unknown) => void;
}

/** Renews a lease until it is lost or the returned function is called, which waits for a renewal in progress. */
export function keepLease(deps: KeepLeaseDeps): () => Promise<void> {
  const { leaseMs, check, lostAfterMs = Infinity } = deps;
  const stop = new AbortController();
  const keep = async (): Promise<void> => {
    let renewedAt = performance.now();
    let troubles = 0;
    for (;;) {
      await setTimeout(check?.checkMs ?? leaseMs / 3, undefined, { signal: stop.signal }).catch(() => undefined);
      if (stop.signal.aborted) return;
      const startedAt = performance.now();
      const isDue = check === undefined || startedAt - renewedAt > leaseMs / 3;
      try {
        if (!(await (isDue ? deps.renew() : check.isHeld()))) return deps.onLost();
        if (isDue) renewedAt = startedAt;
        troubles = 0;
      } catch (error) {
        if (troubles++ === 0) deps.onTrouble(error);
        if (startedAt - renewedAt > lostAfterMs) return deps.onLost();
      }
    }
  };
  const keeping = keep();
  return async () => {
    stop.abort();
    await keeping;
  };
}
