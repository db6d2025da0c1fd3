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
import { rejectedLines } from '../../imports/stages/report/read-results.ts';
import { stagingKeys, type Staging } from '../../imports/staging.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { CommandError } from '../exit-codes.ts';
import { type ImportRuns, type RunAction, viewOfRun, viewSteps, type RunView } from './run-view.ts';
import { openLocalStaging, readText, runIn, withStore } from './local-store.ts';
import { commandOf, findImport, listImports, type ImportDir } from './state-dir.ts';

const poll = { leastMs: 300, mostMs: 300 };

/** The imports of a state directory, which another process may be running. */
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
      throw new CommandError('notFound', `no import in ${stateDir}; use --config for runs of a server`);
    },
    act: async (run, action) => {
      const dir = await findImport(stateDir, run);
      if (action === 'resume' || action === 'promote') throw await needsCommand(dir, action);
      return withStore(dir, async (db) => viewOf(await change(db, dir.id, action)));
    },
    verifyAgain: async (run) => {
      const dir = await findImport(stateDir, run);
      return withStore(dir, async (db) => viewOf(await explained(verifyAgain(db, dir.id))));
    },
    check: async (run) => {
      const { staging, id } = await staged(run);
      // Numbers in samples keep every digit.
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
    rejected: async function* (run) {
      const { staging, id } = await staged(run);
      yield* rejectedLines(staging, id);
    },
    steps: async function* (run, signal) {
      const dir = await findImport(stateDir, run);
      yield* viewSteps(() => viewIn(dir), signal, poll);
    },
  };
}

function viewIn(dir: ImportDir): Promise<RunView> {
  return withStore(dir, async (db) => viewOf(await runIn(dir, db)));
}

function viewOf(run: Run): RunView {
  return viewOfRun(run, Date.now());
}

/** Explains that only the command itself can do this, because its keys are not stored. */
async function needsCommand(dir: ImportDir, action: 'resume' | 'promote'): Promise<CommandError> {
  return new CommandError(
    'usage',
    `the keys of an import are not stored: repeat its command${action === 'resume' ? '' : ' without its limit'}\n  ` +
      (await commandOf(dir, { whole: action === 'promote' })),
  );
}

function change(db: Metadata, id: string, action: Exclude<RunAction, 'resume' | 'promote'>): Promise<Run> {
  if (action === 'pause') return explained(pauseRun(db, id));
  return explained(action === 'cancel' ? cancelRun(db, id, Date.now()) : retryRejected(db, id));
}

/** Returns the subcommand of an action. */
function commandFor(action: RunTransitionError['allowed'][number]): string {
  return action === 'retry' ? 'retry-rejected' : action === 'verify' ? 'verify --again' : action;
}

async function explained(change: Promise<Run>): Promise<Run> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof RunTransitionError) {
      throw new CommandError('failed', refusedText(error.refused, commandFor), { cause: error });
    }
    throw error;
  }
}
