/** Outages of the ClickHouse replicas of tools/with-clickhouse.ts, one after the other. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fillDisk, freeDisk } from '../../test/support/clickhouse-disk.ts';
import { replaceReplica, stateOfReplicas, type ReplicaAccess } from '../../test/support/clickhouse-replicas.ts';
import {
  killClickhouse,
  signalClickhouse,
  startClickhouse,
  testReplicas,
  type TestReplica,
} from '../../test/support/clickhouse-servers.ts';

const outageKinds = ['kill', 'hang', 'keeper', 'lost-disk', 'full-disk'] as const;
export type OutageKind = (typeof outageKinds)[number];

interface Outage {
  readonly name: string;
  readonly seconds: number;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

/** @param text names, separated by commas */
export function readOutages(text: string): OutageKind[] {
  const kinds = text.split(',').filter((name) => name !== '');
  if (kinds.length > 0 && testReplicas().length === 0)
    throw new Error('expected real ClickHouse replicas, got none: run this by `node tools/with-clickhouse.ts -- …`');
  return kinds.map((name) => {
    const kind = outageKinds.find((each) => each === name);
    if (kind === undefined) throw new Error(`expected --outages to be some of ${outageKinds.join(',')}, got ${name}`);
    return kind;
  });
}

/** Longest time without storing while one replica of a shard is away. Nothing can be stored while Keeper is. */
const pauseSecondsMax = 15;

export function isTooLong({ outage, seconds }: Pause): boolean {
  return seconds > pauseSecondsMax && !outage.startsWith('Keeper');
}

/** How long nothing was stored, although records waited, while one outage lasted and until all replicas had caught up. */
export interface Pause {
  readonly outage: string;
  readonly seconds: number;
  /** From the end of the outage until all replicas had caught up. */
  readonly caughtUpSeconds: number;
}

export interface OutageDeps {
  readonly access: ReplicaAccess;
  /** Returns how many records of the log are stored, and how many wait; `undefined` while the database is unavailable. */
  readonly progress: () => Promise<{ readonly stored: number; readonly waiting: number } | undefined>;
  readonly say: (text: string) => void;
}

const [replicaSeconds, keeperSeconds, diskSeconds] = [20, 30, 40];
const pollMs = 250;
const caughtUpMsMax = 300_000;
/** What a disk has left for rows before it is full. */
const freeBytes = 4 * 1024 * 1024;

/** Every replica is killed, or hangs, in turn; of Keeper and the disks there is one outage each. */
export async function runOutages(kinds: readonly OutageKind[], deps: OutageDeps): Promise<Pause[]> {
  const pauses: Pause[] = [];
  for (const outage of kinds.flatMap((kind) => outagesOf(kind, deps.access)))
    pauses.push(await runOutage(outage, deps));
  return pauses;
}

async function runOutage(outage: Outage, { access, progress, say }: OutageDeps): Promise<Pause> {
  const watch = watchProgress(progress);
  await outage.begin();
  await sleep(outage.seconds * 1000);
  await outage.end();
  const ended = performance.now();
  for (let state = 'not asked yet'; state !== ''; await sleep(pollMs)) {
    if (performance.now() - ended > caughtUpMsMax)
      throw new Error(
        `expected the replicas to catch up within ${caughtUpMsMax / 1000} s after ${outage.name}: ${state}`,
      );
    state = await stateOfReplicas(access);
  }
  const pause = {
    outage: outage.name,
    seconds: await watch.stop(),
    caughtUpSeconds: Math.round((performance.now() - ended) / 1000),
  };
  say(
    `${pause.outage}: nothing was stored for ${pause.seconds} s at most, caught up ${pause.caughtUpSeconds} s after it`,
  );
  return pause;
}

/** Measures the longest time in which records waited and none was stored. */
function watchProgress(progress: OutageDeps['progress']): { stop(): Promise<number> } {
  const over = new AbortController();
  const watching = (async (): Promise<number> => {
    let [last, since, longestMs] = [-1, performance.now(), 0];
    while (!over.signal.aborted) {
      const now = await progress();
      if (now !== undefined) {
        if (now.stored === last && now.waiting > 0) longestMs = Math.max(longestMs, performance.now() - since);
        else [last, since] = [now.stored, performance.now()];
      }
      await sleep(pollMs);
    }
    return Math.round(longestMs / 100) / 10;
  })();
  return {
    stop: () => {
      over.abort();
      return watching;
    },
  };
}

function outagesOf(kind: OutageKind, access: ReplicaAccess): Outage[] {
  const all = testReplicas().flatMap((shard, at) =>
    shard.map((replica, n) => ({ replica, name: `${at + 1}.${n + 1}` })),
  );
  if (kind === 'kill')
    return all.map(({ replica, name }) => killed(`replica ${name} killed`, replica.home, replicaSeconds));
  if (kind === 'hang') return all.map(({ replica, name }) => hung(`replica ${name} hung`, replica.home));
  if (kind === 'keeper') {
    return [killed('Keeper killed', process.env['CLICKHOUSE_KEEPER_HOME'] ?? '', keeperSeconds)];
  }
  const [first] = all;
  if (first === undefined) throw new Error('expected replicas of tools/with-clickhouse.ts, got none');
  return kind === 'lost-disk' ? [lostDisk(first.replica, access)] : [fullDisk(first.replica)];
}

function killed(name: string, home: string, seconds: number): Outage {
  return { name, seconds, begin: () => killClickhouse(home), end: () => startClickhouse(home) };
}

function hung(name: string, home: string): Outage {
  return {
    name,
    seconds: replicaSeconds,
    begin: () => signalClickhouse(home, 'SIGSTOP'),
    end: () => signalClickhouse(home, 'SIGCONT'),
  };
}

/** The server comes back without any table; then the operator follows docs/guides/clickhouse-cluster.md. */
function lostDisk({ home }: TestReplica, access: ReplicaAccess): Outage {
  return {
    name: 'replica 1.1 without its disk',
    seconds: diskSeconds,
    begin: async () => {
      await killClickhouse(home);
      rmSync(join(home, 'data'), { recursive: true });
      startClickhouse(home);
    },
    end: () => replaceReplica(access, 0, 0),
  };
}

function fullDisk({ home }: TestReplica): Outage {
  return {
    name: 'replica 1.1 with a full disk',
    seconds: diskSeconds,
    begin: () => fillDisk(home, freeBytes),
    end: () => freeDisk(home),
  };
}
