import { setTimeout as sleep } from 'node:timers/promises';
import type { WarnLog } from '../../../server/telemetry/log.ts';
import { isOfOneServer } from '../engine-errors.ts';
import { ServerAwayError, StoreUnavailableError } from '../eventstore.ts';
import type { Replicas } from './replicas.ts';
import type { ClickhouseServer, ServerSettings } from './server.ts';

/** A change of a run's tables that each shard makes separately. */
export interface ShardChange {
  /** Tables that it reads, on each replica. */
  readonly from: readonly string[];
  /** The table that it writes. */
  readonly to: string;
  /** Counted from 1. */
  readonly shardNumber: number;
  readonly statements: readonly string[];
  /** Whether a statement may be repeated at another replica after it failed at one, where it may have written some rows. */
  readonly isRepeatable: boolean;
  /** How long to wait for replicas before it is logged, and interval between log entries. */
  readonly pollMs: number;
  readonly log: WarnLog;
  /** How long a replica may lack rows before another one that has them makes the change instead. Default 10 s. */
  readonly behindMsMax?: number;
}

const behindMsMaxDefault = 10_000;

/** In seconds; below the timeout of the request, so that the server reports the cause. */
const caughtUpWithin: ServerSettings = { receive_timeout: 240 };

/**
 * Changes a run's tables on a shard. A replica attaches and reads what it has, so it must have all inserted rows first. As with an
 * insert, most replicas have the change in the end. Replicas that are behind may take minutes, which is logged every few seconds. Rejects
 * with StoreUnavailableError, which names the replicas that have not caught up in time.
 */
export async function changeOnShard(shard: Replicas, work: ShardChange): Promise<void> {
  const { from, to, statements, isRepeatable } = work;
  await shard.use(async (server) => {
    const others = shard.servers.filter((each) => each !== server);
    for (const table of from) await hasRows(server, others, { ...work, table });
    for (const sql of statements) await (isRepeatable ? server.command(sql) : onlyOn(server, sql));
  });
  const most = Math.floor(shard.servers.length / 2) + 1;
  await caughtUp(shard.servers, most, { ...work, table: to });
}

/** Rejects with StoreUnavailableError if this server fails, so that no other one is tried: the caller starts over. */
async function onlyOn(server: ClickhouseServer, sql: string): Promise<void> {
  try {
    await server.command(sql);
  } catch (cause) {
    if (!isOfOneServer(cause)) throw cause;
    throw new StoreUnavailableError(`${server.host} failed in the middle of a change, which starts over`, { cause });
  }
}

interface CatchUp extends Pick<ShardChange, 'shardNumber' | 'pollMs' | 'log' | 'behindMsMax'> {
  readonly table: string;
}

/**
 * Resolves once the server has all rows of the table. Rejects with ServerAwayError if it still lacks some after a while and another one has
 * them. It may lack them permanently: if an inserting replica was killed and its part discarded for lack of a quorum, one that returned at
 * that moment keeps looking for the part, as long as no merge covers it. Tables of runs are not merged.
 */
async function hasRows(server: ClickhouseServer, others: readonly ClickhouseServer[], work: CatchUp): Promise<void> {
  const ended = new AbortController();
  const own = caughtUp([server], 1, work);
  const elsewhere = async (): Promise<boolean> => {
    await sleep(work.behindMsMax ?? behindMsMaxDefault, undefined, { signal: ended.signal });
    await firstOf(
      others.map((other) => sync(other, work.table)),
      1,
    );
    return true;
  };
  try {
    // While no other one has the rows either, this one is waited for.
    const isBehind = await Promise.race([own, elsewhere().catch(() => own)]);
    if (isBehind === true)
      throw new ServerAwayError(`${server.host} lacks rows of ${work.table} that another replica has`);
  } finally {
    ended.abort();
    own.catch(() => undefined);
  }
}

async function sync(server: ClickhouseServer, table: string): Promise<void> {
  await server.command(`SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`, caughtUpWithin);
}

/** Resolves once `needed` servers have all rows of the table that other replicas have. */
async function caughtUp(servers: readonly ClickhouseServer[], needed: number, work: CatchUp): Promise<void> {
  const { table, shardNumber, pollMs, log } = work;
  const since = performance.now();
  const behind = new Map(servers.map((server) => [server.host, '']));
  const works = servers.map(async (server) => {
    try {
      await sync(server, table);
      behind.delete(server.host);
    } catch (error) {
      behind.set(server.host, error instanceof Error ? error.message : String(error));
      throw error;
    }
  });
  const timer = setInterval(() => {
    const waited_ms = Math.round(performance.now() - since);
    const about = { shard: shardNumber, table, replicas: [...behind.keys()], needed, waited_ms };
    log.warn(about, 'waiting for ClickHouse replicas to catch up with an import');
  }, pollMs);
  try {
    await firstOf(works, needed);
  } catch (cause) {
    // Tries another replica.
    if (servers.length === 1 && cause instanceof ServerAwayError) throw cause;
    const lacks = [...behind].map(([host, why]) => `${host} (${why === '' ? 'still waiting' : why})`).join('; ');
    throw new StoreUnavailableError(
      `Shard ${shardNumber} of the ClickHouse cluster: expected ${needed} of ${servers.length} replicas to have all rows of ` +
        `${table}, got ${servers.length - behind.size}; not caught up: ${lacks}. See system.replication_queue there.`,
      { cause },
    );
  } finally {
    clearInterval(timer);
  }
}

/** Resolves once `needed` have resolved; rejects with the last reason once that is impossible. */
function firstOf(works: readonly Promise<void>[], needed: number): Promise<void> {
  let [done, failed] = [0, 0];
  return new Promise((resolve, reject) => {
    for (const work of works) {
      work.then(
        () => ++done === needed && resolve(),
        (error: unknown) => ++failed > works.length - needed && reject(error as Error),
      );
    }
  });
}
