import { setTimeout as sleep } from 'node:timers/promises';
import { engineCode } from '../engine-errors.ts';
import type { Replicas } from './replicas.ts';
import type { ClickhouseServer } from './server.ts';

/** Reads use no replica that is further behind than this: `max_replica_delay_for_distributed_queries`. */
export const delaySecondsMax = 10;
/** Clocks of servers may differ, and their delays are whole seconds. */
const skippedAfterMsDefault = (delaySecondsMax + 2) * 1000;
const unknownTable = 60;

/**
 * Resolves once no read uses a replica that lacks a row which was stored before: each replica has all rows of the tables, or it is so far
 * behind that reads skip it. Takes seconds while a server is unavailable, otherwise milliseconds.
 */
export async function waitForReplicas(
  shards: readonly Replicas[],
  tables: readonly string[],
  skippedAfterMs = skippedAfterMsDefault,
): Promise<void> {
  const skippedFrom = performance.now() + skippedAfterMs;
  const syncs = shards.flatMap(({ servers }) => servers.map((server) => hasAll(server, tables)));
  if ((await Promise.all(syncs)).every(Boolean)) return;
  await sleep(Math.max(0, skippedFrom - performance.now()));
}

async function hasAll(server: ClickhouseServer, tables: readonly string[]): Promise<boolean> {
  const within = { receive_timeout: delaySecondsMax };
  const syncs = tables.map((table) => server.command(`SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`, within));
  const results = await Promise.allSettled(syncs);
  return results.every((result) => result.status === 'fulfilled' || isWithoutTable(result.reason));
}

/** Reads that use the table fail on this server, and continue at another one. */
function isWithoutTable(error: unknown): boolean {
  return error instanceof Error && engineCode(error.message) === unknownTable;
}
