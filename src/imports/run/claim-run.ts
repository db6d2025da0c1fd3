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

/** A run in the hands of one worker. `attempt` is the fence: who claims it next has a higher one. */
export interface Claim {
  readonly run: Run;
  readonly attempt: number;
  /** Undefined: no worker ended in the middle of it. */
  readonly deaths?: RunDeaths | undefined;
}

/** What names a claim to other processes. */
export interface HeldRun {
  readonly id: string;
  readonly attempt: number;
}

/** An undo waits for imports, and who replaces a run for its undo: neither must take the place that the other needs. */
export type RunKind = 'import' | 'replace' | 'undo';

/** Whose work a stage is. */
export function kindOf(stage: Stage): RunKind {
  return stage === 'replace' || stage === 'undo' ? stage : 'import';
}

export interface ClaimOptions {
  readonly onlyRun?: string | undefined;
  readonly except?: Iterable<string>;
  readonly kind?: RunKind | undefined;
  /** Attempts of this worker that it outlived, by run: it lost them, and did not end. */
  readonly outlived?: ReadonlyMap<string, number>;
  /** None of which somebody has seen the worker end. */
  readonly withoutDeaths?: boolean;
}

/**
 * Takes the run that has waited longest, or one whose worker died, and holds it until `now + leaseMs`. `now` is the time of the
 * database, as in all that reads or writes leases.
 * @param of `onlyRun`: this one or none; `except`: runs that the caller still has in hand; `kind`: of these only.
 * @returns undefined: nothing to do.
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

/** With the one that is seen now: the run still has an owner, whose lease is over. One that only waited ended for another reason. */
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
        // Nobody holds a run for so long: the clock was set back.
        eb.and([eb('state', '=', 'running'), eb('lease_until', '>', isoMicros(now + 10 * leaseMs))]),
      ]),
    )
    // The command line works on its own.
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
 * Frees the runs of workers that died, without waiting for their leases. Only where nobody else can hold a run of this store:
 * a service that has just started and is the only one on it.
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

/** By who saw the worker end that held it: it is taken up again at once. `note`: how that one ended, and over what. */
export async function noteDeath(db: Queries, { id, attempt }: HeldRun, note: string): Promise<void> {
  const held = isHeld({ id, epoch: attempt });
  const row = await db.selectFrom('import_runs').select(['deaths', 'stage']).where(held).executeTakeFirst();
  if (row === undefined) return;
  const none = { stage: row.stage as Stage, reached: 0, ended: 0, lost: 0, note: '' };
  const deaths = JSON.stringify({
    ...(parseDeaths(row.deaths) ?? none),
    noted: note.slice(0, 500),
  } satisfies RunDeaths);
  await db
    .updateTable('import_runs')
    .set({ deaths, lease_until: isoMicros(0) })
    .where(held)
    .execute();
}

/** Whether the claim still stands: false after a pause, a cancel, or when another worker has the run. */
export async function isClaimed(db: Queries, claim: Claim): Promise<boolean> {
  const query = db.selectFrom('import_runs').select('id');
  return (await query.where(isHeld(leaseOf(claim))).executeTakeFirst()) !== undefined;
}

/** False, as with all that follow: the claim does not stand any more, and nothing was changed. */
export function renew(db: Queries, claim: Claim, now: number, leaseMs: number): Promise<boolean> {
  return updateClaimed(db, claim, { lease_until: isoMicros(now + leaseMs) });
}

/** Before anything is loaded it is on record where to, and what of. */
export function enterStage(db: Queries, claim: Claim, stage: Stage): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    const isMine = await updateClaimed(tx, claim, { stage, waiting: null });
    if (isMine && stage === 'load') await rememberLoad(tx, claim.run.id);
    return isMine;
  });
}

/** The last stage that was asked for is done, or all that the run did is taken back. */
export function completeRun(db: Queries, claim: Claim, now: number): Promise<boolean> {
  const isUndo = claim.run.stage === 'undo';
  return endRun(db, claim, { state: stateAfter(isUndo ? 'completeUndo' : 'complete', 'running'), reason: '' }, now);
}

/** `reason`: what was expected, what came, what to do; no secret. */
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
    if (to.state === 'undone') await forgetLoaded(tx, run);
    else await enqueueRunNotice(tx, run);
    return true;
  });
}

/** Nothing of it is stored any more: its figures say so. What was there before the undo is in its report. */
async function forgetLoaded(tx: Queries, { id, totals }: Run): Promise<void> {
  const { verified: _, stored_before: __, ...rest } = totals;
  const left = JSON.stringify({ ...rest, loaded: 0 });
  await tx.updateTable('import_runs').set({ totals: left }).where('id', '=', id).execute();
}

/** A run of a schedule that has found nothing new: whatever it read was stored before. */
function isEmptyRound({ state, options, totals }: Run): boolean {
  if (state !== 'completed' || options.scheduled !== true || totals.rejected > 0) return false;
  const { loaded, verified, stored_before: before } = totals;
  return loaded === 0 || (verified === loaded && before === loaded);
}

/** Gives the run back where it is: the worker stops. */
export function releaseRun(db: Queries, claim: Claim): Promise<boolean> {
  return updateClaimed(db, claim, { state: stateAfter('release', 'running'), ...ended });
}

const ended = { lease_until: null, waiting: null } as const;

/** Writes on the run's row while the claim stands. */
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
