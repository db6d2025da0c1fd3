import type { Clock } from '../../base/clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { RunLostError, type LeasedRun } from './leased-run.ts';
import { readRunRows, dayColumns, newDayColumns, partColumns } from './run-rows.ts';
import { isClaimed, updateClaimed, type Claim } from './claim-run.ts';
import type { Run, RunTotals, Stage, StageProgress, Waiting } from './run.ts';
import type { SourcePart } from '../source.ts';

const writeEveryMs = 500;
const rowsPerInsert = 500;

interface RunWriterDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Aborted when the claim is lost or the program stops. */
  readonly signal: AbortSignal;
  /** Called when a write finds that the claim is no longer valid. */
  readonly onLost?: () => void;
  /** Called when writing progress fails for another reason; the next write retries it. */
  readonly onTrouble?: (error: unknown) => void;
}

/** A leased run with what only its worker uses. */
export interface RunWriter extends LeasedRun {
  /** Records that the stage has begun; durable with the next flush. */
  beginStage(stage: Stage): void;
  /** Returns the run with its present progress and totals. */
  current(): Run;
  /** Records when the stage ended, unless the stage did so itself. */
  endStage(stage: Stage): void;
}

/** Creates a leased run whose writes are transactions that first check that the claim is valid. */
export function createRunWriter({ db, clock, signal, onLost, onTrouble }: RunWriterDeps, claim: Claim): RunWriter {
  const { run } = claim;
  const write = <T>(work: (tx: Queries) => Promise<T>): Promise<T> =>
    db.transaction().execute(async (tx) => {
      if (!(await updateClaimed(tx, claim, { state: 'running' }))) throw lost(run, onLost);
      return work(tx);
    });
  const shown = showProgress({ db, clock, onLost, onTrouble: onTrouble ?? (() => undefined) }, claim);
  return {
    run,
    signal,
    ...readRunRows(db, run.id),
    addParts: (added) =>
      write(async (tx) => {
        await insertParts(tx, run, added);
        return readRunRows(tx, run.id).parts();
      }),
    savePart: (seq, change) =>
      write(async (tx) => {
        const set = partColumns(change);
        if (Object.keys(set).length === 0) return;
        await tx.updateTable('import_parts').set(set).where('run_id', '=', run.id).where('seq', '=', seq).execute();
      }),
    saveDay: (day, change) =>
      write(async (tx) => {
        const columns = dayColumns(change);
        await tx
          .insertInto('import_days')
          .values({ run_id: run.id, project_id: run.projectId, day, ...newDayColumns, ...columns })
          .onConflict((conflict) => conflict.columns(['run_id', 'day']).doUpdateSet({ day, ...columns }))
          .execute();
      }),
    resetDays: (what) => write((tx) => resetDays(tx, run.id, what)),
    assertHeld: async () => {
      if (!(await isClaimed(db, claim))) throw lost(run, onLost);
    },
    ...shown,
  };
}

function lost(run: Run, onLost: (() => void) | undefined): RunLostError {
  onLost?.();
  return new RunLostError(
    `import run ${run.id} was paused, cancelled or claimed by another worker; this worker releases it`,
  );
}

async function insertParts(tx: Queries, run: Run, parts: readonly SourcePart[]): Promise<void> {
  const known = await tx.selectFrom('import_parts').select(['key', 'seq']).where('run_id', '=', run.id).execute();
  const keys = new Set(known.map(({ key }) => key));
  let seq = known.reduce((max, row) => Math.max(max, row.seq), 0);
  const added = parts.filter((part) => !keys.has(part.key) && keys.add(part.key));
  const rows = added.map((part) => ({
    run_id: run.id,
    project_id: run.projectId,
    seq: (seq += 1),
    key: part.key,
    bytes: part.bytes ?? null,
    identity: part.identity ?? null,
    checksum: null,
    stable: part.stable ? 1 : 0,
    detail: part.detail === undefined ? null : JSON.stringify(part.detail),
    segments: '[]',
    complete: 0,
    faults: 0,
    checked: 0,
    check_state: '',
    error: '',
  }));
  for (let at = 0; at < rows.length; at += rowsPerInsert) {
    await tx
      .insertInto('import_parts')
      .values(rows.slice(at, at + rowsPerInsert))
      .execute();
  }
}

async function resetDays(tx: Queries, runId: string, what: 'days' | 'loaded' | 'verified'): Promise<void> {
  if (what === 'days') {
    await tx.deleteFrom('import_days').where('run_id', '=', runId).execute();
    return;
  }
  const set = what === 'verified' ? { verified: 0 } : { frames_loaded: 0, accepted: 0, rejected: 0, verified: 0 };
  await tx.updateTable('import_days').set(set).where('run_id', '=', runId).execute();
}

interface ShowDeps extends Pick<RunWriterDeps, 'db' | 'clock'> {
  readonly onLost: (() => void) | undefined;
  readonly onTrouble: (error: unknown) => void;
}

/** Keeps progress, totals and waiting of the run, and writes them at most twice a second, one write at a time. */
function showProgress({ db, clock, onLost, onTrouble }: ShowDeps, claim: Claim) {
  const { run } = claim;
  let progress: Run['progress'] = run.progress;
  let totals: RunTotals = run.totals;
  let waiting: Waiting | null = run.waiting;
  const write = async (): Promise<void> => {
    const columns = {
      progress: JSON.stringify(progress),
      totals: JSON.stringify(totals),
      waiting: waiting === null ? null : JSON.stringify(waiting),
    };
    if (!(await updateClaimed(db, claim, columns))) throw lost(run, onLost);
  };
  const onFailure = (error: unknown): void => {
    // The signal reports a lost run; other errors occur again with the next write.
    if (!(error instanceof RunLostError)) onTrouble(error);
  };
  const { soon, now: flush } = createLateWrite(writeEveryMs, write, onFailure);
  return {
    progress(stage: StageProgress, changed: Partial<RunTotals> = {}) {
      progress = { ...progress, [stage.stage]: withTimes(stage, progress[stage.stage], clock.now()) };
      totals = { ...totals, ...changed };
      waiting = null;
      soon();
    },
    waiting(reason: Waiting | null) {
      if (reason === null && waiting === null) return;
      const isNew = reason !== null && reason.reason !== waiting?.reason;
      waiting = reason;
      soon();
      // Otherwise a short wait would end, or another part's progress replace it, before it is shown.
      if (isNew) flush().catch(onFailure);
    },
    beginStage(stage: Stage) {
      const { finishedAt: _, ...before } = progress[stage] ?? { stage, partsDone: 0, done: 0, bytes: 0, rate: 0 };
      progress = { ...progress, [stage]: { ...before, startedAt: before.startedAt ?? clock.now() } };
      soon();
    },
    current: (): Run => ({ ...run, progress, totals, waiting }),
    endStage(stage: Stage) {
      const of = progress[stage];
      if (of === undefined || of.finishedAt !== undefined) return;
      progress = { ...progress, [stage]: { ...of, finishedAt: clock.now() } };
      soon();
    },
    flush,
  };
}

/** Fills in when the stage began and last grew, unless the stage provides that. */
function withTimes(stage: StageProgress, before: StageProgress | undefined, now: number): StageProgress {
  const grew = before === undefined || stage.done > before.done;
  const lastProgressAt = stage.lastProgressAt ?? (grew ? now : before.lastProgressAt);
  return {
    ...stage,
    startedAt: stage.startedAt ?? before?.startedAt ?? now,
    ...(lastProgressAt === undefined ? {} : { lastProgressAt }),
  };
}

/** Merges changes into few writes, one after another. */
interface LateWrite {
  /** Writes soon; errors go to `onTrouble`. */
  soon(): void;
  /** Writes immediately if anything is pending; rejects when the write fails, which the next one retries. */
  now(): Promise<void>;
}

function createLateWrite(everyMs: number, write: () => Promise<void>, onTrouble: (error: unknown) => void): LateWrite {
  let dirty = false;
  let writtenAt = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();
  const attempt = async (): Promise<void> => {
    if (!dirty) return;
    dirty = false;
    writtenAt = performance.now();
    try {
      await write();
    } catch (error) {
      dirty = true;
      throw error;
    }
  };
  const now = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const next = writing.then(attempt);
    writing = next.catch(() => undefined);
    return next;
  };
  return {
    now,
    soon: () => {
      dirty = true;
      if (timer !== undefined) return;
      timer = setTimeout(() => void now().catch(onTrouble), Math.max(0, writtenAt + everyMs - performance.now()));
      timer.unref();
    },
  };
}
