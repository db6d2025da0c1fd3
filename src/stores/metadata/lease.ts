/**
 * Leases on rows that several workers share: one at a time takes a row, renews its lease while it works, and lets go of it. The
 * fence is the epoch (column `attempts`): every claim raises it and every write of the holder names it, so that who lost the row
 * changes nothing any more, however late.
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

/** The condition on every write of a holder. On PostgreSQL the write locks the row until the transaction ends. */
export function isHeld({ id, epoch }: Lease): Expression<SqlBool> {
  return row.and([row('id', '=', id), row('state', '=', 'running'), row('attempts', '=', epoch)]);
}

/** Held by a worker that died. */
export function isExpired(now: number): Expression<SqlBool> {
  return row.and([row('state', '=', 'running'), row('lease_until', '<', isoMicros(now))]);
}

/** The row is as it was when it was found, and nobody has taken it or renewed its lease since. */
export function isStill({ id, attempts, lease_until: until }: Omit<LeasedRow, 'state'>): Expression<SqlBool> {
  const unchanged =
    until === null
      ? row('state', '=', 'queued')
      : row.and([row('state', '=', 'running'), row('lease_until', '=', until)]);
  return row.and([row('id', '=', id), row('attempts', '=', attempts), unchanged]);
}

/** What a claim writes into a row. */
export function claimed({ attempts }: Pick<LeasedRow, 'attempts'>, now: number, leaseMs: number) {
  return { state: 'running', attempts: attempts + 1, lease_until: isoMicros(now + leaseMs) } as const;
}

/** Others look at the same row; who comes second looks for the next one. Undefined: there is nothing to take. */
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
  /** Extends the lease, three times as often as needed. False: it is lost. */
  readonly renew: () => Promise<boolean>;
  /** Asked every `checkMs` in between: whether the lease still stands. */
  readonly check?: { readonly checkMs: number; readonly isHeld: () => Promise<boolean> };
  /** Without a renewal for so long it counts as lost; default: only when the store says so. */
  readonly lostAfterMs?: number;
  readonly onLost: () => void;
  /** The first of failures in a row. */
  readonly onTrouble: (error: unknown) => void;
}

/** Renews a lease until it is lost or the function that comes back is called, which waits for a renewal under way. */
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
