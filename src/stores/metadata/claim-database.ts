import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Log } from '../../server/telemetry/log.ts';
import type { Metadata } from './database.ts';
import type { Queries } from './queries.ts';

/** Advisory lock of the service in a schema; any constant works that nothing else in the database uses. */
const claimClass = sql.lit(778_120_532);
const claimKey = sql`${claimClass}, hashtext(current_schema())`;
const claimWaitMsMax = 10_000;
const retryMs = 250;
const checkMs = 5_000;
/** Interval for logging that the database is still unavailable, however often it is tried. */
const logAgainMs = 30_000;

/** Whether other processes may share the claim: those of one cluster share the event log that the cursors refer to. */
export type ClaimSharing = 'alone' | 'together';

/** Another service uses the same database. */
export class DatabaseTakenError extends Error {
  override name = 'DatabaseTakenError';
}

export interface DatabaseClaim {
  /** False between the loss of the connection and the renewal of the claim. */
  held(): boolean;
  /** Releases the database for the next service. */
  release(): Promise<void>;
}

export interface ClaimDeps {
  readonly sharing: ClaimSharing;
  readonly log: Log;
  /** How long to wait for a service that is stopping. Default 10 s. */
  readonly waitMsMax?: number;
  /** Interval for checking the claim. Default 5 s. */
  readonly checkMs?: number;
}

/**
 * Claims a PostgreSQL database for this service alone, or together with the other processes of its cluster, by an exclusive or a shared
 * advisory lock. Its cursors refer to one event log: with a second log, each service would mistake the other's cursor for its own
 * and drop events that are not stored.
 *
 * @throws DatabaseTakenError, or an error if the database cannot be reached
 */
export async function claimDatabase(db: Metadata, deps: ClaimDeps): Promise<DatabaseClaim> {
  const claim: Claim = { held: false, stop: new AbortController() };
  const first = Promise.withResolvers<void>();
  const keeping = keepClaim(db, deps, claim, first);
  await first.promise;
  return {
    held: () => claim.held,
    release: async () => {
      claim.stop.abort();
      await keeping;
    },
  };
}

interface Claim {
  held: boolean;
  readonly stop: AbortController;
}

/** Holds the claim until `stop` and renews it after a lost connection. */
async function keepClaim(
  db: Metadata,
  deps: ClaimDeps,
  claim: Claim,
  first: PromiseWithResolvers<void>,
): Promise<void> {
  const { signal } = claim.stop;
  let everHeld = false;
  let loggedAt = -Infinity;
  while (!signal.aborted) {
    try {
      // The lock belongs to the connection, which is therefore kept.
      await db.connection().execute(async (connection) => {
        await takeClaim(connection, deps.sharing, deps.waitMsMax ?? claimWaitMsMax, signal);
        claim.held = true;
        everHeld = true;
        first.resolve();
        await holdClaim(connection, deps.sharing, deps.checkMs ?? checkMs, signal);
      });
    } catch (error) {
      const isLostNow = claim.held;
      claim.held = false;
      if (!everHeld) {
        first.reject(error instanceof DatabaseTakenError ? error : notReached(error));
        return;
      }
      if (signal.aborted) return;
      if (isLostNow || performance.now() - loggedAt >= logAgainMs) {
        deps.log.error({ err: error }, 'database claim lost, retrying');
        loggedAt = performance.now();
      }
      await setTimeout(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
  claim.held = false;
}

const locks = {
  alone: { take: sql`pg_try_advisory_lock(${claimKey})`, release: sql`pg_advisory_unlock(${claimKey})` },
  together: {
    take: sql`pg_try_advisory_lock_shared(${claimKey})`,
    release: sql`pg_advisory_unlock_shared(${claimKey})`,
  },
} as const satisfies Record<ClaimSharing, unknown>;

const taken: Readonly<Record<ClaimSharing, string>> = {
  alone:
    'expected a database at DATABASE_URL that no other service uses, got one that another running Millrace uses; ' +
    'stop that one, or give this one a separate database',
  together:
    'expected a database at DATABASE_URL for the processes of a cluster, got one that a running Millrace without ' +
    'KAFKA_BROKERS uses; stop that one, or give the cluster a separate database',
};

async function takeClaim(
  connection: Queries,
  sharing: ClaimSharing,
  waitMsMax: number,
  signal: AbortSignal,
): Promise<void> {
  // With keepalives the server soon notices when this machine fails, which would otherwise hold the claim for hours.
  await sql`select set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)`.execute(connection);
  const giveUpAt = performance.now() + waitMsMax;
  for (;;) {
    const { rows } = await sql<{ taken: boolean }>`select ${locks[sharing].take} as taken`.execute(connection);
    if (rows[0]?.taken === true) return;
    if (performance.now() >= giveUpAt || signal.aborted) throw new DatabaseTakenError(taken[sharing]);
    await setTimeout(retryMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

async function holdClaim(
  connection: Queries,
  sharing: ClaimSharing,
  everyMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await setTimeout(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (!signal.aborted) await sql`select 1`.execute(connection);
  }
  await sql`select ${locks[sharing].release}`.execute(connection);
}

/** Returns how many processes hold the claim on the database alone and together. */
export async function databaseClaims(db: Queries): Promise<{ readonly alone: number; readonly together: number }> {
  // Two keys of an advisory lock are the columns classid and objid, with objsubid 2.
  const { rows } = await sql<{ mode: string; count: number }>`
    select mode, count(*) as count from pg_locks where locktype = 'advisory' and objsubid = 2 and granted
      and database = (select oid from pg_database where datname = current_database())
      and (classid::bigint, objid::bigint) = (${claimClass}, hashtext(current_schema())::bigint & 4294967295)
    group by mode`.execute(db);
  const of = (mode: string): number => Number(rows.find((row) => row.mode === mode)?.count ?? 0);
  return { alone: of('ExclusiveLock'), together: of('ShareLock') };
}

/** Omits the address, which may be confidential. */
function notReached(cause: unknown): Error {
  const { code, message } = cause as NodeJS.ErrnoException;
  const reason = code !== undefined && /^E[A-Z]+$/.test(code) ? code : message;
  return new Error(
    `expected to reach PostgreSQL at DATABASE_URL, got: ${reason}; check the address and that the server is running`,
    { cause },
  );
}
