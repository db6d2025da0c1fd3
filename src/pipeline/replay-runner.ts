import { setTimeout } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import type { Ingest } from '../wire/batch/ingest.ts';
import { createDatabaseClock, type DatabaseClock } from '../stores/metadata/database-clock.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import { keepLease } from '../stores/metadata/lease.ts';
import type { Log } from '../server/telemetry/log.ts';
import { decideDeadLetters, type DeadLetter } from './dead-letter-queries.ts';
import {
  claimReplay,
  endReplay,
  expireReplay,
  releaseInvalid,
  lettersOfReplay,
  noteReplayError,
  renewReplay,
  type HeldReplay,
} from './dead-letter-replays.ts';
import { prepareReplay } from './prepare-replay.ts';

export interface ReplayRunnerDeps {
  readonly db: Metadata;
  readonly ingest: Ingest;
  readonly clock: Clock;
  /** Clock of leases. Default: that of `db`. */
  readonly databaseClock?: DatabaseClock;
  readonly log: Log;
  /** Largest event that the pipeline accepts, in bytes of JSON. */
  readonly eventBytesMax: number;
  /** Aborted when the service stops. */
  readonly signal: AbortSignal;
  /** Poll interval, ms. */
  readonly pollMs?: number;
  readonly leaseMs?: number;
}

/** Letters held in memory at the same time: each may have 1 MB. */
const lettersAtOnce = 20;
const pauseMsMax = 30_000;
const defaultPollMs = 1000;
const defaultLeaseMs = 30_000;

type HeldReplayDeps = ReplayRunnerDeps & Required<Pick<ReplayRunnerDeps, 'databaseClock' | 'leaseMs'>>;

/** Runs requested replays one after another until the signal; resolves when it has stopped. */
export async function runReplays(deps: ReplayRunnerDeps): Promise<void> {
  const { db, log, signal, pollMs = defaultPollMs, leaseMs = defaultLeaseMs } = deps;
  const { databaseClock = createDatabaseClock(db) } = deps;
  while (!signal.aborted) {
    let held: HeldReplay | undefined;
    try {
      held = await claimReplay(db, await databaseClock.now(), leaseMs);
    } catch (err) {
      log.warn({ err }, 'failed to claim a dead-letter replay; retrying');
    }
    if (held === undefined) await pause(pollMs, signal);
    else await runReplay({ ...deps, databaseClock, leaseMs }, held);
  }
}

async function runReplay(deps: HeldReplayDeps, first: HeldReplay): Promise<void> {
  const { db, clock, databaseClock, leaseMs, log, signal } = deps;
  const lost = new AbortController();
  const release = keepLease({
    leaseMs,
    renew: async () => renewReplay(db, first, (await databaseClock.now()) + leaseMs),
    onLost: () => lost.abort(),
    onTrouble: (err) => log.warn({ err, replay: first.id }, 'failed to renew the lease of a dead-letter replay'),
  });
  const stopped = AbortSignal.any([signal, lost.signal]);
  let held: HeldReplay | undefined = first;
  let failures = 0;
  while (held !== undefined && !stopped.aborted) {
    try {
      const letters: DeadLetter[] = await lettersOfReplay(db, held.id, lettersAtOnce);
      if (letters.length === 0) {
        await endReplay(db, held, clock.now());
        break;
      }
      held = await replayLetters(deps, held, letters);
      failures = 0;
    } catch (error) {
      // Ingestion or the store is unavailable or full: nothing is lost, and the replay resumes when they are back.
      log.warn({ err: error, replay: first.id }, 'dead-letter replay stalled, retrying');
      await noteReplayError(db, first, messageOf(error)).catch(() => undefined);
      await pause(Math.min(1000 * 2 ** failures++, pauseMsMax), stopped);
    }
  }
  await release();
  // After a stop the next worker need not wait for the lease to expire.
  if (signal.aborted) await expireReplay(db, first).catch(() => undefined);
}

/** Returns undefined when the lease is lost. */
async function replayLetters(
  { db, ingest, clock, eventBytesMax }: ReplayRunnerDeps,
  held: HeldReplay,
  letters: readonly DeadLetter[],
): Promise<HeldReplay | undefined> {
  const failed: { id: string; code: string; detail: string }[] = [];
  const sent = await Promise.allSettled(
    letters.map(async (letter) => {
      const replay = prepareReplay(letter, undefined, { requestId: `replay ${held.id}`, eventBytesMax });
      if (!replay.ok) return void failed.push({ id: letter.id, code: replay.code, detail: replay.detail });
      await ingest.accept(replay.batch);
      // Accepted before it is marked: a crash in between replays it again, which stores it once.
      await decideDeadLetters(db, letter.project_id, { ids: [letter.id] }, 'replayed', clock.now());
    }),
  );
  const refused = sent.find((each) => each.status === 'rejected');
  if (refused !== undefined) throw refused.reason;
  return releaseInvalid(db, held, failed);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
