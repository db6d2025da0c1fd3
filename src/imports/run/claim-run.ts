import { isoMicros } from '../../base/clock.ts';
import type { Metadata } from '../../metadata/database.ts';
import type { Queries } from '../../metadata/queries.ts';
import { runColumns, timeOf, toRun } from './run-rows.ts';
import type { Run, RunState, Stage } from './run.ts';

/** A run in the hands of one worker. `attempt` is the fence: who claims it next has a higher one. */
export interface Claim {
  readonly run: Run;
  readonly attempt: number;
}

const claimTriesMax = 20;

/**
 * Takes the run that has waited longest, or one whose worker died, and holds it until `now + leaseMs`.
 * @param of `onlyRun`: this one or none; `except`: runs that the caller still has in hand.
 * @returns undefined: nothing to do.
 */
export async function claimRun(
  db: Metadata,
  now: number,
  leaseMs: number,
  of: { readonly onlyRun?: string | undefined; readonly except?: Iterable<string> } = {},
): Promise<Claim | undefined> {
  // Others look at the same run; who comes second looks for the next one.
  for (let tries = 0; tries < claimTriesMax; tries++) {
    const candidate = await findDue(db, now, leaseMs, of.onlyRun, [...(of.except ?? [])]);
    if (candidate === undefined) return undefined;
    const row = await db
      .updateTable('import_runs')
      .set({
        state: 'running',
        attempts: candidate.attempts + 1,
        lease_until: isoMicros(now + leaseMs),
        started_at: candidate.started_at ?? isoMicros(now),
      })
      .where('id', '=', candidate.id)
      .where('attempts', '=', candidate.attempts)
      .where((eb) =>
        candidate.lease_until === null
          ? eb('state', '=', 'queued')
          : // The holder may just have renewed it.
            eb.and([eb('state', '=', 'running'), eb('lease_until', '=', candidate.lease_until)]),
      )
      .returning(runColumns)
      .executeTakeFirst();
    if (row !== undefined) return { run: toRun(row), attempt: candidate.attempts + 1 };
  }
  return undefined;
}

function findDue(db: Metadata, now: number, leaseMs: number, onlyRun: string | undefined, except: readonly string[]) {
  let query = db
    .selectFrom('import_runs')
    .select(['id', 'attempts', 'lease_until', 'started_at'])
    .where((eb) =>
      eb.or([
        eb('state', '=', 'queued'),
        eb.and([eb('state', '=', 'running'), eb('lease_until', '<', isoMicros(now))]),
        // Nobody holds a run for so long: the clock was set back.
        eb.and([eb('state', '=', 'running'), eb('lease_until', '>', isoMicros(now + 10 * leaseMs))]),
      ]),
    )
    .orderBy('created_at')
    .orderBy('id')
    .limit(1);
  if (onlyRun !== undefined) query = query.where('id', '=', onlyRun);
  if (except.length > 0) query = query.where('id', 'not in', except);
  return query.executeTakeFirst();
}

/**
 * Frees the runs of workers that died, without waiting for their leases. Only where nobody else can hold a run of this store:
 * a service that has just started and is the only one on it.
 */
export async function expireLeases(db: Queries, now: number): Promise<void> {
  const lease_until = isoMicros(now - 1);
  await db.updateTable('import_runs').set({ lease_until }).where('state', '=', 'running').execute();
}

/** Whether the claim still stands: false after a pause, a cancel, or when another worker has the run. */
export async function readHold(db: Queries, { run, attempt }: Claim): Promise<boolean> {
  const row = await db
    .selectFrom('import_runs')
    .select(['state', 'attempts'])
    .where('id', '=', run.id)
    .executeTakeFirst();
  return row !== undefined && row.state === 'running' && row.attempts === attempt;
}

/** False, as with all that follow: the claim does not stand any more, and nothing was changed. */
export function renew(db: Queries, claim: Claim, now: number, leaseMs: number): Promise<boolean> {
  return leave(db, claim, { lease_until: isoMicros(now + leaseMs) });
}

export function enterStage(db: Queries, claim: Claim, stage: Stage): Promise<boolean> {
  return leave(db, claim, { stage, waiting: null });
}

/** The last stage that was asked for is done. */
export function completeRun(db: Queries, claim: Claim, now: number): Promise<boolean> {
  return leave(db, claim, { state: 'completed', ...ended, reason: '', finished_at: timeOf(now) });
}

/** `reason`: what was expected, what came, what to do; no secret. */
export function failRun(db: Queries, claim: Claim, reason: string, now: number): Promise<boolean> {
  return leave(db, claim, { state: 'failed', ...ended, reason: reason.slice(0, 1000), finished_at: timeOf(now) });
}

/** Gives the run back where it is: the worker stops. */
export function releaseRun(db: Queries, claim: Claim): Promise<boolean> {
  return leave(db, claim, { state: 'queued', ...ended });
}

const ended = { lease_until: null, waiting: null } as const;

interface Left {
  readonly state?: RunState;
  readonly stage?: Stage;
  readonly reason?: string;
  readonly waiting?: string | null;
  readonly progress?: string;
  readonly totals?: string;
  readonly lease_until?: string | null;
  readonly finished_at?: string | null;
}

/** Writes on the run's row while the claim stands. On PostgreSQL the row is locked until the transaction ends. */
export async function leave(db: Queries, { run, attempt }: Claim, columns: Left): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('import_runs')
    .set(columns)
    .where('id', '=', run.id)
    .where('state', '=', 'running')
    .where('attempts', '=', attempt)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
