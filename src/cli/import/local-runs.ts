import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseExactValues } from '../../base/exact-json.ts';
import type { CheckResult, VerifyResult } from '../../imports/run/results.ts';
import {
  cancelRun,
  pauseRun,
  retryRejected,
  refusedText,
  RunTransitionError,
  verifyAgain,
} from '../../imports/run/run-transitions.ts';
import type { Run } from '../../imports/run/run.ts';
import { stagingKeys, type Staging } from '../../imports/staging.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { CommandError } from '../exit-codes.ts';
import type { ImportRuns, RunAction } from './import-runs.ts';
import { readText, rejectedLines } from './local-results.ts';
import { openLocalStaging, runIn, withStore } from './local-store.ts';
import { isFinal, viewOfRun, type RunView } from './run-view.ts';
import { commandOf, findImport, listImports, type ImportDir } from './state-dir.ts';

const pollMs = 300;

/** The imports begun below a state directory; the process that does one may be another. */
export function localRuns(stateDir: string): ImportRuns {
  const list = async (): Promise<readonly RunView[]> => {
    const dirs = await listImports(stateDir);
    const views = await Promise.all(dirs.map(viewIn));
    return views.toSorted((left, right) => right.created_at.localeCompare(left.created_at));
  };
  const staged = async (run: string): Promise<{ staging: Staging; id: string }> => {
    const dir = await findImport(stateDir, run);
    return { staging: await openLocalStaging(dir), id: dir.id };
  };
  return {
    list,
    find: async (run) => {
      if (run !== undefined) return viewIn(await findImport(stateDir, run));
      const [newest] = await list();
      if (newest !== undefined) return newest;
      throw new CommandError('notFound', `no import was begun in ${stateDir}; --config means those of a server`);
    },
    act: async (run, action) => {
      const dir = await findImport(stateDir, run);
      if (action === 'resume' || action === 'promote') throw await repeat(dir, action);
      return withStore(dir, async (db) => viewOf(await changed(db, dir.id, action)));
    },
    verifyAgain: async (run) => {
      const dir = await findImport(stateDir, run);
      return withStore(dir, async (db) => viewOf(await asked(verifyAgain(db, dir.id))));
    },
    check: async (run) => {
      const { staging, id } = await staged(run);
      // Samples in it keep their digits.
      return parseExactValues(await readText(staging, stagingKeys.check(id), 'check')) as unknown as CheckResult;
    },
    verify: async (run) => {
      const { staging, id } = await staged(run);
      return JSON.parse(await readText(staging, stagingKeys.verify(id), 'verify')) as VerifyResult;
    },
    report: async function* (run, form) {
      const { staging, id } = await staged(run);
      yield Buffer.from(await readText(staging, stagingKeys.report(id, form), 'report'));
    },
    rejected: async function* (run, signal) {
      const { staging, id } = await staged(run);
      yield* rejectedLines(staging, id, signal);
    },
    steps: (run, signal) => steps(stateDir, run, signal),
  };
}

function viewIn(dir: ImportDir): Promise<RunView> {
  return withStore(dir, async (db) => viewOf(await runIn(dir, db)));
}

function viewOf(run: Run): RunView {
  return viewOfRun(run, Date.now());
}

/** What only the command itself can do: its keys are kept nowhere. */
async function repeat(dir: ImportDir, action: 'resume' | 'promote'): Promise<CommandError> {
  return new CommandError(
    'usage',
    `the keys of an import are not kept: give its command ${action === 'resume' ? 'again' : 'without its limit'}\n  ` +
      (await commandOf(dir, { whole: action === 'promote' })),
  );
}

function changed(db: Metadata, id: string, action: Exclude<RunAction, 'resume' | 'promote'>): Promise<Run> {
  if (action === 'pause') return asked(pauseRun(db, id));
  return asked(action === 'cancel' ? cancelRun(db, id, Date.now()) : retryRejected(db, id));
}

/** As the subcommand is called. */
function commandFor(action: RunTransitionError['allowed'][number]): string {
  return action === 'retry' ? 'retry-rejected' : action === 'verify' ? 'verify --again' : action;
}

async function asked(change: Promise<Run>): Promise<Run> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof RunTransitionError) {
      throw new CommandError('failed', refusedText(error.refused, commandFor), { cause: error });
    }
    throw error;
  }
}

async function* steps(stateDir: string, id: string, signal: AbortSignal): AsyncIterable<RunView> {
  const dir = await findImport(stateDir, id);
  let last: RunView | undefined;
  while (last === undefined || !isFinal(last)) {
    const view = await viewIn(dir);
    if (!isDeepStrictEqual(view, last)) yield view;
    last = view;
    if (!isFinal(view)) await sleep(pollMs, undefined, { signal });
  }
}
