import { isDeepStrictEqual } from 'node:util';
import { readRunRows } from '../../imports/run/read-run-rows.ts';
import { createRun, getRun } from '../../imports/run/run-store.ts';
import { pauseRun, resumeChecking, resumeRun, type ResumeChanges } from '../../imports/run/run-transitions.ts';
import type { Run } from '../../imports/run/run.ts';
import { readCheck } from '../../imports/stages/report/read-results.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { CommandError } from '../exit-codes.ts';
import { earlierImports } from './earlier-imports.ts';
import { openLocalStaging } from './local-store.ts';
import type { ImportRequest } from './request.ts';
import type { ImportDir } from './state-dir.ts';

export interface Prepared {
  readonly run: Run;
  /** `new`: made now. `again`: begun before, and goes on. `done`: nothing is left to do. */
  readonly how: 'new' | 'again' | 'done';
}

/**
 * The run of a directory that this process holds, so that its worker may claim it. What the command says about speed,
 * rejected records and how far to go counts from now on. Errors: CommandError failed, when it was cancelled.
 */
export async function prepareRun(
  db: Metadata,
  dir: ImportDir,
  request: ImportRequest,
  previousRun: string | undefined,
): Promise<Prepared> {
  const { source, options } = request;
  const { rejectedMax, eventsPerSecond, last, target, again } = options;
  const changes: ResumeChanges = { rejectedMax, eventsPerSecond, last, target, ...(again === true && { again }) };
  const found = await getRun(db, dir.id);
  if (found === undefined) {
    const own = previousRun === undefined ? options : { ...options, previousRun };
    const run = await createRun(db, { id: dir.id, projectId: 0, configId: 0, source, options: own, now: Date.now() });
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
      return { run: await continueChecked(db, { dir, apiKey: request.apiKey }, found, changes), how: 'again' };
    case 'paused':
    case 'failed':
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
    case 'queued':
    case 'running':
      // Nobody works on it, though a process that was killed leaves its lease behind. On the way it is given other options.
      await pauseRun(db, dir.id);
      return { run: await resumeRun(db, dir.id, changes), how: 'again' };
  }
}

/** Where it loads may be known only now: what earlier imports have loaded there decides whether the check still holds. */
async function continueChecked(
  db: Metadata,
  { dir, apiKey }: { readonly dir: ImportDir; readonly apiKey: string | undefined },
  checked: Run,
  changes: ResumeChanges,
): Promise<Run> {
  const rows = readRunRows(db, checked.id);
  const [parts, days, result] = await Promise.all([
    rows.parts(),
    rows.days(),
    openLocalStaging(dir).then((staging) => readCheck(staging, checked.id)),
  ]);
  const run = { ...checked, options: { ...checked.options, ...(changes.target && { target: changes.target }) } };
  const same = await earlierImports(dir, apiKey).sameRecords({ run, parts, days });
  if (isDeepStrictEqual(same, result?.same_records ?? [])) return resumeRun(db, checked.id, changes);
  return resumeChecking(db, checked.id, changes);
}

/** Whether a completed run has done all that a command asks for. */
export function nothingLeft(completed: Run, last: Run['options']['last']): boolean {
  return completed.options.last === 'report' || last === 'check';
}
