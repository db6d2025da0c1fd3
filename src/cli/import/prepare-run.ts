import { setTimeout as sleep } from 'node:timers/promises';
import { createRun, getRun } from '../../imports/run/run-store.ts';
import { pauseRun, resumeRun, type ResumeChanges } from '../../imports/run/run-transitions.ts';
import type { Run } from '../../imports/run/run.ts';
import type { Metadata } from '../../metadata/database.ts';
import { CommandError } from '../exit-codes.ts';
import type { ImportRequest } from './request.ts';
import type { ImportDir } from './state-dir.ts';

/** A lease that is held by nobody that lives ends after so long. */
export const leaseMs = 5_000;

export interface Prepared {
  readonly run: Run;
  /** `new`: made now. `again`: begun before, and goes on. `done`: nothing is left to do. */
  readonly how: 'new' | 'again' | 'done';
}

/**
 * The directory's run, so that a worker may claim it. What the command says about speed, rejected records and how far to go counts
 * from now on. Errors: CommandError failed, when it was cancelled.
 */
export async function prepareRun(
  db: Metadata,
  dir: ImportDir,
  request: ImportRequest,
  onWait: (sentence: string) => void,
): Promise<Prepared> {
  const { source, options } = request;
  const { rejectedMax, eventsPerSecond, last, again } = options;
  const changes: ResumeChanges = { rejectedMax, eventsPerSecond, last, ...(again === true && { again }) };
  const found = await getRun(db, dir.id);
  if (found === undefined) {
    const run = await createRun(db, { id: dir.id, projectId: 0, configId: 0, source, options, now: Date.now() });
    return { run, how: 'new' };
  }
  switch (found.state) {
    case 'cancelled':
      throw new CommandError('failed', `this import was cancelled (${dir.id}); --again starts anew`);
    // What it loaded was taken back: the same command does all of it anew.
    case 'undone':
      throw new CommandError('failed', `this import was taken back (${dir.id}); --again starts anew`);
    case 'completed':
      if (nothingLeft(found, last)) return { run: found, how: 'done' };
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
    case 'paused':
    case 'failed':
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
    case 'queued':
      // Nobody holds it: it can be given other options on the way.
      await pauseRun(db, dir.id);
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
    case 'running':
      await waitForLease(db, dir, onWait);
      await pauseRun(db, dir.id);
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
  }
}

/** Whether a completed run has done all that a command asks for. */
export function nothingLeft(completed: Run, last: Run['options']['last']): boolean {
  return completed.options.last === 'report' || last === 'check';
}

/**
 * A process that was killed leaves its lease behind, which runs out; one that lives renews it.
 * Errors: CommandError failed, when another process is at work.
 */
async function waitForLease(db: Metadata, { id }: ImportDir, onWait: (sentence: string) => void): Promise<void> {
  const first = await leaseUntil(db, id);
  for (let said = false; ;) {
    const until = await leaseUntil(db, id);
    if (until > first) {
      throw new CommandError(
        'failed',
        `another process is at work on this import; "millrace import watch --run ${id}"`,
      );
    }
    const waitMs = Math.min(until, Date.now() + leaseMs) - Date.now();
    if (waitMs <= 0) return;
    if (!said)
      onWait(`the process that was at work on it has gone, or is busy; ${Math.ceil(waitMs / 1000)} s until it is sure`);
    said = true;
    await sleep(Math.min(waitMs + 1, 500));
  }
}

/** ms since the epoch; 0: nobody holds the run. */
async function leaseUntil(db: Metadata, id: string): Promise<number> {
  const query = db.selectFrom('import_runs').select('lease_until').where('id', '=', id);
  const { lease_until: until } = await query.executeTakeFirstOrThrow();
  return until === null ? 0 : Date.parse(until);
}
