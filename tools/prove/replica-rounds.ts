/** Rounds of work on the ClickHouse replicas of tools/with-clickhouse.ts while they have outages. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connectClickhouse } from '../../src/stores/events/clickhouse/connect-clickhouse.ts';
import type { RunStore } from '../../src/stores/events/run-tables.ts';
import { replicaAccess, replicaDifferences } from '../../test/support/clickhouse-replicas.ts';
import { isTooLong, runOutages, type OutageKind } from './replica-outages.ts';
import { say } from './say.ts';

/** What a round has done; its work counts it. */
export interface RoundProgress {
  stored: number;
  /** Rows that are being stored. */
  waiting: number;
  /** Calls of the store that failed and were repeated. */
  retries: number;
}

export interface RoundWork {
  /** Stores rows, and ends soon after the signal is aborted. */
  run(progress: RoundProgress, over: AbortSignal): Promise<unknown>;
  /** Compares what is stored with what the round has stored. Returns a line for each difference. */
  faults(progress: RoundProgress): Promise<string[]>;
}

export interface Rounds {
  readonly rounds: number;
  readonly outages: readonly OutageKind[];
  /** A round stores at least so many rows. */
  readonly rowsMin: number;
}

const pollMs = 200;

/** Opens the store of the environment. */
export function connectReplicas(): Promise<RunStore> {
  return connectClickhouse(process.env['CLICKHOUSE_URL'] ?? '', {
    cluster: process.env['MILLRACE_CLICKHOUSE_CLUSTER'] ?? '',
    replicas: process.env['MILLRACE_CLICKHOUSE_REPLICAS'] ?? '',
    queryTimeoutMs: 300_000,
  });
}

/** Runs the rounds, and sets the exit code: 0 if none has a fault. */
export async function proveRounds(of: Rounds, begin: () => RoundWork): Promise<void> {
  let faults = 0;
  for (let round = 1; round <= of.rounds; round += 1) faults += await tryRound(of, round, begin());
  say(faults === 0 ? 'proved' : `${faults} faults`);
  process.exitCode = faults === 0 ? 0 : 1;
}

/** Returns the number of faults. */
async function tryRound({ outages, rowsMin }: Rounds, round: number, work: RoundWork): Promise<number> {
  const access = replicaAccess();
  const progress: RoundProgress = { stored: 0, waiting: 0, retries: 0 };
  const over = new AbortController();
  const working = work.run(progress, over.signal);
  const disturb = async () => {
    const pauses = await runOutages(outages, { access, progress: async () => progress, say });
    while (progress.stored < rowsMin) await sleep(pollMs);
    over.abort();
    return pauses;
  };
  // Work that fails ends the proof, not only once the outages have ended.
  const [pauses] = await Promise.all([disturb(), working]);
  const faults = [
    ...pauses.filter(isTooLong).map(({ outage, seconds }) => `nothing was stored for ${seconds} s: ${outage}`),
    ...(await replicaDifferences(access)),
    ...(await work.faults(progress)),
  ];
  for (const fault of faults) say(fault);
  const longest = Math.max(0, ...pauses.map(({ seconds }) => seconds));
  say(
    `round ${round}: ${progress.stored} rows, ${progress.retries} calls repeated, ${pauses.length} outages, ` +
      `nothing stored for ${longest} s at most; ${faults.length} faults`,
  );
  return faults.length;
}
