/** The five stages of an import and what is looked at before them, put together once: for the service and for the command line. */
import type { Clock } from '../base/clock.ts';
import type { Failpoint } from '../base/failpoint.ts';
import type { EventStore } from '../stores/events/eventstore.ts';
import type { RunStore } from '../stores/events/run-tables.ts';
import type { Metadata } from '../stores/metadata/database.ts';
import type { PreflightResult } from '../wire/contract/import-preflight.ts';
import { withoutAgreement } from './preflight/check-agreement.ts';
import { findingText, problemsText } from './preflight/findings.ts';
import type { AgreementFacts, ProbedTarget } from './preflight/preflight-context.ts';
import { createPreflight, type Preflight } from './preflight/preflight.ts';
import type { AdviceWords } from './run/advice-words.ts';
import { heldStaging } from './run/held-staging.ts';
import { RunFailedError, type LeasedRun, type RunStage, type RunStages } from './run/leased-run.ts';
import { earlierRunsIn, type EarlierRuns } from './run/same-records.ts';
import { getRun } from './run/run-store.ts';
import type { RunOptions, Stage } from './run/run.ts';
import { SourceError, type Source } from './source.ts';
import { createCheckStage, discardCheck } from './stages/check/check-stage.ts';
import { readCheck } from './stages/report/read-results.ts';
import { hasLinksElsewhere } from './stages/load/links-elsewhere.ts';
import { createTargetRetry } from './stages/stage-retry.ts';
import { createLinkTurn, hasLoadSinceCheck, type LinkTurn } from './run/link-turn.ts';
import type { OpenRunTransform } from './stages/check/segment/run-transform.ts';
import { assertSourceUnchanged } from './stages/export/assert-source-unchanged.ts';
import { createExportStage } from './stages/export/export-stage.ts';
import type { DiskQuota } from './stages/export/disk-quota.ts';
import { createLoadStage } from './stages/load/load-stage.ts';
import { createReplaceStage } from './stages/replace/replace-stage.ts';
import { planReplace } from './stages/replace/plan-replace.ts';
import { createReportStage } from './stages/report/report-stage.ts';
import { createUndoStage } from './stages/undo/undo-stage.ts';
import { createVerifyStage } from './stages/verify/verify-stage.ts';
import { stagingKeys, type Staging } from './staging.ts';
import { TargetWaitError, type Target } from './target.ts';

/** Source and target are asked for when a stage needs them: a run whose config is gone still ends what was staged. */
export interface AssembleDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  readonly quota: DiskQuota;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  /** Of JSON, one event: what the target takes. */
  readonly eventBytesMax: number;
  /** In which records are checked. */
  readonly threads: number;
  readonly openSource: () => Promise<Source>;
  /** Undefined: there is no key to load with. */
  readonly openTarget: () => Promise<Target | undefined>;
  /** Of the target's project, where that is this service's own: what undo works on. */
  readonly store?: EventStore;
  /** Where the tables of the run lie, whatever its target; opened when a stage needs them. */
  readonly openRunStore: () => Promise<RunStore>;
  /** What a person then does about it. */
  readonly targetMissing: string;
  /** Names of events that the target's project has stored; undefined: nobody can tell, and the check does without. */
  readonly knownEvents?: () => Promise<ReadonlySet<string> | undefined>;
  /** Opens a table that a run joins; left out: none can be joined. */
  readonly openTable?: (path: string) => Promise<Source>;
  /** Finds the code that a run names; left out: there is none. */
  readonly openTransform?: OpenRunTransform | undefined;
  /** Other runs to the same place; left out: those of this store. */
  readonly earlier?: EarlierRuns;
  /** Names of what changes the target's events on their way into its store; left out: nothing does, or nobody can tell. */
  readonly activeTransformations?: () => Promise<readonly string[]>;
  readonly words: AdviceWords;
  /** What the target's project may send of history; left out: it requires no agreement, or nobody can tell. */
  readonly agreement?: (() => Promise<AgreementFacts | undefined>) | undefined;
  /** Free where this service stores events and tables of runs; left out: nobody can tell. */
  readonly storeFreeBytes?: (() => Promise<number | undefined>) | undefined;
  /** Whether tables of runs lie on the disk of staging; left out: they do not, or nobody can tell. */
  readonly tablesBesideStaging?: (() => Promise<boolean>) | undefined;
  /** What the preflight of a run may take, ms; without it there is no preflight: the command has looked already. */
  readonly preflightMs?: number;
}

/** As AssembleDeps; of a target only what tells beforehand. */
export type PreflightAssembly = Pick<
  AssembleDeps,
  | 'staging'
  | 'quota'
  | 'clock'
  | 'openSource'
  | 'openTransform'
  | 'words'
  | 'agreement'
  | 'storeFreeBytes'
  | 'tablesBesideStaging'
> & { readonly openTarget: () => Promise<ProbedTarget | undefined>; readonly timeLimitMs: number };

export function assemblePreflight(deps: PreflightAssembly): Preflight {
  return createPreflight(deps);
}

/** Dispose of the stages when the run is not worked on any more. */
export function assembleStages(deps: AssembleDeps): RunStages & AsyncDisposable {
  const turn = createLinkTurn(deps.db);
  const of = (stage: Stage): RunStage => {
    return (leased) => stagesOn({ ...deps, turn, staging: heldStaging(deps.staging, leased) })[stage](leased);
  };
  return {
    export: of('export'),
    check: of('check'),
    replace: of('replace'),
    load: of('load'),
    verify: of('verify'),
    report: of('report'),
    undo: of('undo'),
    [Symbol.asyncDispose]: turn.release,
  };
}

interface StageDeps extends AssembleDeps {
  readonly turn: LinkTurn;
}

function stagesOn(deps: StageDeps): RunStages {
  const { db, staging, quota, clock, failpoint, words } = deps;
  const earlier = deps.earlier ?? earlierRunsIn(db);
  const target = async (): Promise<Target> => {
    const opened = await deps.openTarget();
    if (opened === undefined) throw new RunFailedError(deps.targetMissing);
    return opened;
  };
  const check = checkStage({ ...deps, earlier });
  return {
    export: async (leased) => {
      await passPreflight(deps, leased);
      const source = await deps.openSource();
      await createExportStage({ source, staging, quota, clock, failpoint })(leased);
    },
    check,
    replace: (leased) => replaceOthers({ ...deps, earlier, check }, leased),
    load: async (leased) => {
      // Where it replaces another run it was asked before that was taken back: from then on it has to go on.
      if (leased.run.totals.replaced === undefined) await assertSourceUnchanged(deps.openSource, leased);
      const runStore = await deps.openRunStore();
      const load = { undone: earlier.undone, target: await target(), staging, runStore, clock, failpoint, words };
      await decideLinksAgain({ ...deps, check }, leased, load);
      await createLoadStage(load)(leased);
      await deps.turn.release();
    },
    verify: async (leased) => {
      const { activeTransformations } = deps;
      const verify = {
        knownRuns: earlier.known,
        target: await target(),
        staging,
        runStore: await deps.openRunStore(),
        clock,
        failpoint,
        activeTransformations,
        words,
      };
      await createVerifyStage(verify)(leased);
    },
    undo: async (leased) => {
      const { store } = deps;
      if (store === undefined) throw new RunFailedError(undoElsewhere);
      const { settled } = await target();
      await createUndoStage({ db, store, staging, clock, failpoint, settled })(leased);
    },
    report: createReportStage({ staging, clock, failpoint, current: (id) => getRun(db, id) }),
  };
}

function checkStage(deps: StageDeps & { readonly earlier: EarlierRuns }): RunStage {
  const { db, store, staging, quota, earlier, openTransform, eventBytesMax, threads, clock, failpoint, words } = deps;
  return async (leased) => {
    const [opened, known] = await Promise.all([deps.openTarget(), deps.knownEvents?.()]);
    const project = known === undefined ? undefined : { knownEvents: async () => known };
    const reader = opened?.reader;
    const openTable = tableOpener(deps);
    const plan = store && ((runs: readonly string[]) => planReplace({ db, store }, leased.run.projectId, runs));
    const checkDeps = {
      planReplace: plan,
      openTable,
      openTransform,
      staging,
      waitForRoom: () => quota.wait(leased),
      waitToDecide: async () => {
        if (sharesLinks(deps, leased) && leased.run.options.last !== 'check') await deps.turn.take(leased);
      },
      runStore: await deps.openRunStore(),
      reader,
      project,
      earlier,
      eventBytesMax,
      threads,
      clock,
      failpoint,
      words,
    };
    await createCheckStage(checkDeps)(leased);
  };
}

/** Whether other runs of this service load into the same project. */
function sharesLinks({ store }: StageDeps, { run }: LeasedRun): boolean {
  return store !== undefined && run.options.target.kind === 'project';
}

/** Checks once more before the first event is loaded if another run has stored some of the links since the check. */
async function decideLinksAgain(
  deps: StageDeps & { readonly check: RunStage },
  leased: LeasedRun,
  { target: { reader }, runStore }: { readonly target: Target; readonly runStore: RunStore },
): Promise<void> {
  if (!sharesLinks(deps, leased) || reader === undefined) return;
  const { run, signal } = leased;
  const result = await readCheck(deps.staging, run.id);
  if (result !== undefined && result.identity.identifies + result.identity.group_identifies === 0) return;
  await deps.turn.take(leased);
  if (result !== undefined) {
    const isBegun = (await leased.days()).some(({ accepted, framesLoaded }) => accepted + framesLoaded > 0);
    if (isBegun || !(await hasLoadSinceCheck(deps.db, run))) return;
    const links = { runStore, reader, run: { projectId: run.projectId, runId: run.id }, signal };
    const retry = createTargetRetry({ leased, clock: deps.clock });
    if (!(await retry(() => hasLinksElsewhere(links)))) return;
    await discardCheck(deps.staging, leased);
  }
  // Without a result such a check was interrupted.
  await deps.check(leased);
}

const ofTheSource = 'source:';

/** A file, or what the source of the run itself keeps: `source:Products`. */
function tableOpener({ openSource, openTable }: AssembleDeps): AssembleDeps['openTable'] {
  return async (table) => {
    if (table.startsWith(ofTheSource)) {
      const own = (await openSource()).openTable?.(table.slice(ofTheSource.length).trim());
      if (own !== undefined) return own;
      throw new SourceError(`expected a source that keeps tables, to join ${table}; this one does not: give a file`);
    }
    if (openTable === undefined) throw new SourceError(`expected a place to read ${table} from, got none`);
    return await openTable(table);
  };
}

const undoElsewhere =
  'expected a run that loaded into a project of this service, got one that sent its events elsewhere; take them back there';

async function replaceOthers(
  deps: AssembleDeps & { readonly earlier: EarlierRuns; readonly check: RunStage },
  leased: LeasedRun,
): Promise<void> {
  if (deps.store === undefined) throw new RunFailedError(undoElsewhere);
  const ready = async (events: number): Promise<void> => {
    await assertSourceUnchanged(deps.openSource, leased);
    await assertAgreed(deps, leased.run.options, events);
  };
  await createReplaceStage({ ...deps, ready })(leased);
}

/** Nothing is taken back as long as it is not clear that what takes its place may come. */
async function assertAgreed(
  { agreement, words }: Pick<AssembleDeps, 'agreement' | 'words'>,
  options: RunOptions,
  events: number,
): Promise<void> {
  const facts = await agreement?.();
  if (facts === undefined || facts.approvedEventsPerSecond !== undefined) return;
  const finding = withoutAgreement({ options, words }, facts, events);
  if (finding.level === 'problem') throw new RunFailedError(`${findingText(finding)} Then ${words.resume}.`);
  const isWaiting = facts.isFiled && events > facts.freeEventsLeft;
  if (isWaiting) throw new TargetWaitError(`${finding.message}; nothing is taken back before it is approved`);
}

/** Before anything is fetched: a run that goes on has passed it. Throws RunFailedError with what is to be changed. */
async function passPreflight(deps: AssembleDeps, leased: LeasedRun): Promise<void> {
  const { run, signal } = leased;
  const { preflightMs: timeLimitMs } = deps;
  if (timeLimitMs === undefined || run.options.preflight === false || (await leased.parts()).length > 0) return;
  const preflight = createPreflight({ ...deps, timeLimitMs });
  const result = await preflight({ options: run.options, signal });
  await keepResult(deps, run.id, result);
  if (result.verdict === 'failed') {
    throw new RunFailedError(`${problemsText(result)} Then ${deps.words.resume}.`);
  }
}

/** Where nothing can be written, the run fails for that, and its reason says so. */
async function keepResult({ staging }: AssembleDeps, run: string, result: PreflightResult): Promise<void> {
  try {
    await staging.write(stagingKeys.preflight(run), [Buffer.from(JSON.stringify(result))]);
  } catch (error) {
    const isKnown = result.findings.some(({ check, level }) => check === 'staging' && level === 'problem');
    if (!isKnown) throw error;
  }
}
