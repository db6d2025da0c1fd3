import { getRun } from '../../imports/run/run-store.ts';
import type { Run } from '../../imports/run/run.ts';
import { describeChanges } from '../../imports/stages/export/source-changes.ts';
import type { Terminal } from '../terminal.ts';
import { lockImport, withStore } from './local-store.ts';
import { findOwnImport, takeOverCheck } from './own-import.ts';
import type { ImportRequest } from './request.ts';
import { sourceSince } from './source-since.ts';
import { isBegun, openImport, type ImportDir } from './state-dir.ts';

/** The directory in which a command does its import, held by this process. */
export interface ChosenImport extends Disposable {
  readonly dir: ImportDir;
  /** The run that imported the same source as it was before; undefined: none. */
  readonly previousRun: string | undefined;
}

export interface ChooseImportOptions {
  readonly stateDir: string;
  readonly again?: boolean | undefined;
}

/**
 * The import that was begun by the same command or by a check of the same records, or a new one: the first time, when asked for, and
 * when the source is not what it was. Errors: CommandError failed, when another process is at work on it.
 */
export async function chooseImport(
  terminal: Terminal,
  request: ImportRequest,
  { stateDir, again = false }: ChooseImportOptions,
): Promise<ChosenImport> {
  const { identity, begun, isCheck } = await findOwnImport(stateDir, request);
  if (begun !== undefined && isCheck && !again) await takeOverCheck(begun, identity);
  const dir = await openImport(stateDir, identity, again);
  const lock = lockImport(dir);
  try {
    const changes = again || !isBegun(dir) ? undefined : await changesSince(terminal, dir, request);
    if (changes === undefined) return { dir, previousRun: undefined, [Symbol.dispose]: () => lock[Symbol.dispose]() };
    const next = await openImport(stateDir, identity, true);
    const nextLock = lockImport(next);
    lock[Symbol.dispose]();
    terminal.note(
      `the source is not what ${dir.id} has read: ${changes}; ${next.id} imports it as it is now, and what is stored ` +
        'already stays stored once',
    );
    return { dir: next, previousRun: dir.id, [Symbol.dispose]: () => nextLock[Symbol.dispose]() };
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/** In words; undefined: there are none, or the run goes on in any case. */
async function changesSince(terminal: Terminal, dir: ImportDir, request: ImportRequest): Promise<string | undefined> {
  return await withStore(dir, async (db) => {
    const run = await getRun(db, dir.id);
    if (run === undefined || !isReadAndNotUnderWay(run)) return undefined;
    const onTrouble = (reason: string): void =>
      terminal.note(`whether the source is still the same cannot be told: ${reason}`);
    const { changed, later } = await sourceSince({ db, dir, request, onTrouble }, run);
    const first = later[0]?.listed.key;
    if (first !== undefined) {
      terminal.note(`new at the source since ${dir.id} read it: ${describeChanges(later)}; --from-date imports them`);
    }
    return changed.length === 0 ? undefined : describeChanges(changed);
  });
}

/** An export that goes on looks by itself; a load that has begun goes on with what was read. */
function isReadAndNotUnderWay({ state, stage, progress }: Run): boolean {
  if (state === 'completed') return true;
  return state !== 'cancelled' && stage !== 'export' && (progress.load?.done ?? 0) === 0;
}
