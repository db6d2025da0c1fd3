import type { Selectable, Updateable } from 'kysely';
import { isoMicros } from '../../base/clock.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import { claimed, claimNext, isExpired, isHeld, isStill, type Lease } from '../../stores/metadata/lease.ts';
import { rememberLoad } from '../../stores/metadata/import-loads.ts';
import { inTransaction, type Queries } from '../../stores/metadata/queries.ts';
import { countDeath, parseDeaths, type RunDeaths } from './run-deaths.ts';
import { runColumns, timeOf, toRun } from './run-rows.ts';
import { stateAfter, type Run, type RunState, type Stage } from './run.ts';
import { enqueueRunNotice } from './enqueue-run-notice.ts';

/** A run that one worker holds. `attempt` is the fencing token: the next worker that claims the run has a higher one. */
export interface Claim {
  readonly run: Run;
  readonly attempt: number;
  /** `undefined` means that no worker has died while working on it. */
  readonly deaths?: RunDeaths | undefined;
}

/** Identifies a claim to other processes. */
export interface HeldRun {
  readonly id: string;
  readonly attempt: number;
}

/** An undo waits for imports, and a replacing run waits for an undo: neither may occupy the slot that the other needs. */
export type RunKind = 'import' | 'replace' | 'undo';

/** Returns which kind of worker does a stage. */
export function kindOf(stage: Stage): RunKind {
  return stage === 'replace' || stage === 'undo' ? stage : 'import';
}

export interface ClaimOptions {
  /** Claims only this run. */
  readonly onlyRun?: string | undefined;
  /** Runs that the caller still holds. */
  readonly except?: Iterable<string>;
  readonly kind?: RunKind | undefined;
  /** Last attempt that this worker lost without dying, by run. */
  readonly outlived?: ReadonlyMap<string, number>;
  /** Skips runs during which a worker has died. */
  readonly withoutDeaths?: boolean;
}

/**
 * Claims the run that has waited longest, or one whose worker died, until `now + leaseMs`.
 * @param now database time, like everything that reads or writes leases
 * @returns `undefined` if no run is due
 */
export async function claimRun(
  db: Metadata,
  now: number,
  leaseMs: number,
  of: ClaimOptions = {},
): Promise<Claim | undefined> {
  return claimNext(
    () => findDue(db, now, leaseMs, of),
    async (found) => {
      const taken = claimed(found, now, leaseMs);
      const deaths = await deathsOf(db, found, of);
      const text = deaths === undefined ? null : JSON.stringify(deaths);
      const row = await db
        .updateTable('import_runs')
        .set({ ...taken, deaths: text, started_at: found.started_at ?? isoMicros(now) })
        .where(isStill(found))
        .returning(runColumns)
        .executeTakeFirst();
      return row && { run: toRun(row), attempt: taken.attempts, deaths };
    },
  );
}

type Due = Pick<
  Selectable<Database['import_runs']>,
  'id' | 'attempts' | 'lease_until' | 'started_at' | 'state' | 'stage' | 'deaths' | 'waiting'
>;

/** Adds the death that this claim reveals: the run has an owner whose lease expired. An idle run that only waited did not cause it. */
async function deathsOf(db: Metadata, found: Due, { outlived }: ClaimOptions): Promise<RunDeaths | undefined> {
  const known = parseDeaths(found.deaths);
  const wasIdle = found.waiting !== null && known?.noted === undefined;
  if (found.state !== 'running' || wasIdle || outlived?.get(found.id) === found.attempts) return known;
  return await countDeath(db, { id: found.id, stage: found.stage as Stage }, known);
}

function findDue(
  db: Metadata,
  now: number,
  leaseMs: number,
  { onlyRun, except = [], kind, withoutDeaths }: ClaimOptions,
): Promise<Due | undefined> {
  const inHand = [...except];
  let query = db
    .selectFrom('import_runs')
    .select(['id', 'attempts', 'lease_until', 'started_at', 'state', 'stage', 'deaths', 'waiting'])
    .where((eb) =>
      eb.or([
        eb('state', '=', 'queued'),
        isExpired(now),
        // No lease is that long: the clock was set back.
        eb.and([eb('state', '=', 'running'), eb('lease_until', '>', isoMicros(now + 10 * leaseMs))]),
      ]),
    )
    // Commands work on their own runs.
    .where((eb) => eb.or([eb('config_id', '!=', 0), eb('project_id', '=', 0), eb('stage', '=', 'undo')]))
    .orderBy('created_at')
    .orderBy('id')
    .limit(1);
  if (onlyRun !== undefined) query = query.where('id', '=', onlyRun);
  if (inHand.length > 0) query = query.where('id', 'not in', inHand);
  if (withoutDeaths === true) query = query.where('deaths', 'is', null);
  if (kind === 'import') query = query.where('stage', 'not in', ['replace', 'undo'] satisfies Stage[]);
  else if (kind !== undefined) query = query.where('stage', '=', kind satisfies Stage);
  return query.executeTakeFirst();
}

/**
 * Releases the runs of dead workers without waiting for their leases to expire. Call it only when no other process can hold a run of
 * this store, when its only service starts.
 */
export async function expireLeases(db: Queries): Promise<void> {
  const lease_until = isoMicros(0);
  await db
    .updateTable('import_runs')
    .set({ lease_until })
    .where('state', '=', 'running')
    .where((eb) => eb.or([eb('config_id', '!=', 0), eb('stage', '=', 'undo')]))
    .execute();
}

/** Records that the worker of a run has died, so that the run can be claimed again immediately. `note` describes how it ended. */
export async function noteDeath(db: Queries, { id, attempt }: HeldRun, note: string): Promise<void> {
  const held = isHeld({ id, epoch: attempt });
  const row = await db.selectFrom('import_runs').select(['deaths', 'stage']).where(held).executeTakeFirst();
  if (row === undefined) return;
  const first = { stage: row.stage as Stage, reached: 0, ended: 0, lost: 0, note: '' };
  const deaths = JSON.stringify({
    ...(parseDeaths(row.deaths) ?? first),
    noted: note.slice(0, 500),
  } satisfies RunDeaths);
  await db
    .updateTable('import_runs')
    .set({ deaths, lease_until: isoMicros(0) })
    .where(held)
    .execute();
}

/** Returns whether the claim is still valid: not after a pause or a cancel, or when another worker holds the run. */
export async function isClaimed(db: Queries, claim: Claim): Promise<boolean> {
  const query = db.selectFrom('import_runs').select('id');
  return (await query.where(isHeld(leaseOf(claim))).executeTakeFirst()) !== undefined;
}

/** Returns `false`, like the functions below, if the claim is no longer valid; nothing has changed then. */
export function renew(db: Queries, claim: Claim, now: number, leaseMs: number): Promise<boolean> {
  return updateClaimed(db, claim, { lease_until: isoMicros(now + leaseMs) });
}

/** Enters a stage. What the run loads, and where, is recorded before its load begins. */
export function enterStage(db: Queries, claim: Claim, stage: Stage): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const isHeldStill = await updateClaimed(tx, claim, { stage, waiting: null });
    if (isHeldStill && stage === 'load') await rememberLoad(tx, claim.run.id);
    return isHeldStill;
  });
}

/** Ends a run whose last requested stage is done, or that is undone. */
export function completeRun(db: Queries, claim: Claim, now: number): Promise<boolean> {
  const isUndo = claim.run.stage === 'undo';
  return endRun(db, claim, { state: stateAfter(isUndo ? 'completeUndo' : 'complete', 'running'), reason: '' }, now);
}

/** @param reason what was expected, what came and what to do; without secrets */
export function failRun(db: Queries, claim: Claim, reason: string, now: number): Promise<boolean> {
  return endRun(db, claim, { state: stateAfter('fail', 'running'), reason: reason.slice(0, 1000) }, now);
}

function endRun(
  db: Queries,
  claim: Claim,
  to: { readonly state: RunState; readonly reason: string },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const row = await tx
      .updateTable('import_runs')
      .set({ ...to, ...ended, finished_at: timeOf(now) })
      .where(isHeld(leaseOf(claim)))
      .returning(runColumns)
      .executeTakeFirst();
    if (row === undefined) return false;
    const run = toRun(row);
    if (isEmptyRound(run))
      await tx.updateTable('import_runs').set({ kept: 'short' }).where('id', '=', run.id).execute();
    if (to.state === 'undone') await resetLoaded(tx, run);
    else await enqueueRunNotice(tx, run);
    return true;
  });
}

/** Resets the figures of what is no longer stored. The report has those from before the undo. */
async function resetLoaded(tx: Queries, { id, totals }: Run): Promise<void> {
  const { verified: _, stored_before: __, verdict: ___, ...rest } = totals;
  const left = JSON.stringify({ ...rest, loaded: 0 });
  await tx.updateTable('import_runs').set({ totals: left }).where('id', '=', id).execute();
}

/** Returns whether a scheduled run found nothing new: everything that it read had been stored before. */
function isEmptyRound({ state, options, totals }: Run): boolean {
  if (state !== 'completed' || options.scheduled !== true || totals.rejected > 0) return false;
  const { loaded, verified, stored_before: before } = totals;
  return loaded === 0 || (verified === loaded && before === loaded);
}

/** Returns the run to the queue in its present stage, because the worker stops. */
export function releaseRun(db: Queries, claim: Claim): Promise<boolean> {
  return updateClaimed(db, claim, { state: stateAfter('release', 'running'), ...ended });
}

const ended = { lease_until: null, waiting: null } as const;

/** Updates the run's row while the claim is valid. */
export async function updateClaimed(
  db: Queries,
  claim: Claim,
  columns: Updateable<Database['import_runs']>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('import_runs')
    .set(columns)
    .where(isHeld(leaseOf(claim)))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

function leaseOf({ run, attempt }: Claim): Lease {
  return { id: run.id, epoch: attempt };
}
