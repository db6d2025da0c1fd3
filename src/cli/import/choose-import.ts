import { getRun } from '../../imports/run/run-store.ts';
import type { Run } from '../../imports/run/run.ts';
import { describeChanges } from '../../imports/stages/export/source-changes.ts';
import type { Terminal } from '../terminal.ts';
import { lockImport, withStore } from './local-store.ts';
import { sourceSince } from './source-since.ts';
import { isBegun, openImport, type ImportDir, newestImport } from './state-dir.ts';
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { slowHash } from '../../base/slow-hash.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { ImportRequest } from './request.ts';

/** The directory of a command's import, locked by this process. */
interface ChosenImport extends Disposable {
  readonly dir: ImportDir;
  /** The run that imported an earlier state of the source, if any. */
  readonly previousRun: string | undefined;
}

interface ChooseImportOptions {
  readonly stateDir: string;
  readonly again?: boolean | undefined;
  readonly identities: Identities;
}

/** Identities of a command, each hashed once. */
export interface Identities {
  ofImport(): string;
  /** The same records, checked without a target. */
  ofCheck(): string;
}

/**
 * Opens the import started by the same command or by a check of the same records; a new one the first time, with `again`, and when the
 * source has changed. Errors: CommandError failed, when another process works on it.
 */
export async function chooseImport(
  terminal: Terminal,
  request: ImportRequest,
  { stateDir, again = false, identities }: ChooseImportOptions,
): Promise<ChosenImport> {
  const { identity, begun, isCheck } = await findOwnImport(stateDir, request, identities);
  if (begun !== undefined && isCheck && !again) await continueCheck(begun, identity);
  const dir = await openImport(stateDir, identity, again);
  const lock = lockImport(dir);
  try {
    const changes = again || !isBegun(dir) ? undefined : await changesSince(terminal, dir, request);
    if (changes === undefined) return { dir, previousRun: undefined, [Symbol.dispose]: () => lock[Symbol.dispose]() };
    const next = await openImport(stateDir, identity, true);
    const nextLock = lockImport(next);
    lock[Symbol.dispose]();
    terminal.note(
      `the source has changed since ${dir.id} read it: ${changes}; ${next.id} imports its present state, and events ` +
        'stored before stay stored once',
    );
    return { dir: next, previousRun: dir.id, [Symbol.dispose]: () => nextLock[Symbol.dispose]() };
  } catch (error) {
    lock[Symbol.dispose]();
    throw error;
  }
}

/** Describes the changes; `undefined` without any, or if the run continues in any case. */
async function changesSince(terminal: Terminal, dir: ImportDir, request: ImportRequest): Promise<string | undefined> {
  return await withStore(dir, async (db) => {
    const run = await getRun(db, dir.id);
    if (run === undefined || !isReadButNotLoading(run)) return undefined;
    const onTrouble = (reason: string): void => terminal.note(`cannot check whether the source has changed: ${reason}`);
    const { changed, later } = await sourceSince({ db, dir, request, onTrouble }, run);
    const first = later[0]?.listed.key;
    if (first !== undefined) {
      terminal.note(`new at the source since ${dir.id} read it: ${describeChanges(later)}; --from-date imports them`);
    }
    return changed.length === 0 ? undefined : describeChanges(changed);
  });
}

/** A resumed export checks the source itself; a load in progress continues with what was read. */
function isReadButNotLoading({ state, stage, progress }: Run): boolean {
  if (state === 'completed') return true;
  return state !== 'cancelled' && stage !== 'export' && (progress.load?.done ?? 0) === 0;
}

/** The existing import of a command. */
interface OwnImport {
  readonly identity: string;
  /** The import that the command continues, if any. */
  readonly begun: ImportDir | undefined;
  /** Whether `begun` is a check without a target. */
  readonly isCheck: boolean;
}

/** Prefers an import of the same command to a check of the same records. */
export async function findOwnImport(
  stateDir: string,
  request: ImportRequest,
  identities: Identities,
): Promise<OwnImport> {
  const identity = identities.ofImport();
  const begun = await newestImport(stateDir, identity);
  if (begun !== undefined) return { identity, begun, isCheck: false };
  const ofCheck = identities.ofCheck();
  const check = await newestImport(stateDir, ofCheck);
  if (request.options.last === 'check') return { identity: ofCheck, begun: check, isCheck: false };
  return { identity, begun: check, isCheck: check !== undefined };
}

/**
 * Turns a check into the import that continues it, so that nothing is exported or checked twice. Errors: CommandError failed, when another
 * process works on it.
 */
async function continueCheck(check: ImportDir, identity: string): Promise<void> {
  using _lock = lockImport(check);
  const path = join(resolve(check.stateDir), identity);
  // A command killed before it started may have left this directory.
  if (!existsSync(path)) await rename(check.path, path);
}

/**
 * Returns 16 hex digits that identify an import: the source, the conversion and the target. Speed, rejected records and the last stage may
 * differ between commands. A slow hash keeps weak passwords of databases from being guessed from the name of a directory.
 */
export function identityOf({ source, paths, settings, options, projectKey: apiKey = '' }: ImportRequest): string {
  const { range, format, formatOptions, names, choice, transform, limit, target } = options;
  const code = transform?.hash;
  const identity = {
    source,
    paths,
    settings,
    range,
    format,
    formatOptions,
    names,
    choice,
    code,
    limit,
    target,
    apiKey,
  };
  return slowHash(canonicalJson(identity));
}

export function identitiesOf(request: ImportRequest): Identities {
  let ofImport: string | undefined;
  let ofCheck: string | undefined;
  return {
    ofImport: () => (ofImport ??= identityOf(request)),
    ofCheck: () => (ofCheck ??= identityOfCheck(request)),
  };
}

/** Returns the identity of a check, which an import of the same records continues, whatever its target. */
function identityOfCheck(request: ImportRequest): string {
  return identityOf({
    ...request,
    projectKey: undefined,
    options: { ...request.options, target: { kind: 'project' } },
  });
}
