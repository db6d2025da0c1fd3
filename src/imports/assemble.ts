/** Assembles the stages of an import and its preflight, once for the service and the command line. */
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
import type { KeptOutList } from '../wire/contract/kept-out.ts';
import type { PlanText } from './run/tracking-plan-of.ts';
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
import { TargetWaitError, type ExpiredBefore, type Target } from './target.ts';

/** Source and target are opened when a stage needs them, so a run whose config is deleted can still finish staged records. */
interface AssembleDeps {
  readonly db: Metadata;
  readonly staging: Staging;
  readonly quota: DiskQuota;
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  /** Maximum size of one event as JSON, which the target accepts. */
  readonly eventBytesMax: number;
  /** Threads that check records. */
  readonly threads: number;
  readonly openSource: () => Promise<Source>;
  /** Returns `undefined` if there is no key to load with. */
  readonly openTarget: () => Promise<Target | undefined>;
  /** Event store of the target's project, if that is this service's own: what undo works on. */
  readonly store?: EventStore;
  /** Opens the store with the run's tables, whatever its target, when a stage needs them. */
  readonly openRunStore: () => Promise<RunStore>;
  /** What the user can do without a target. */
  readonly targetMissing: string;
  /** Event names that the target's project has stored; the check does without if they are unknown. */
  readonly knownEvents?: () => Promise<ReadonlySet<string> | undefined>;
  /** Opens a table that a run joins; without it no table can be joined. */
  readonly openTable?: (path: string) => Promise<Source>;
  /** Finds the code of a run's transform; without it there are no transforms. */
  readonly openTransform?: OpenRunTransform | undefined;
  /** Reads the tracking plan of the target's project; without it no plan applies in the check. */
  readonly trackingPlan?: () => Promise<PlanText | undefined>;
  /** Reads the ids that the target's project keeps out; without it none are. */
  readonly keptOut?: () => Promise<KeptOutList | undefined>;
  /** Other runs to the same place; by default those of this store. */
  readonly earlier?: EarlierRuns;
  /** Names the transformations that change the target's events before they are stored, if known. */
  readonly activeTransformations?: () => Promise<readonly string[]>;
  readonly words: AdviceWords;
  /** Agreement on the history that the target's project may send, if it requires one and it is known. */
  readonly agreement?: (() => Promise<AgreementFacts | undefined>) | undefined;
  /** The retention of the target's project, if it removes historical events and is known. */
  readonly expiredBefore?: (() => Promise<ExpiredBefore | undefined>) | undefined;
  /** Free bytes where this service stores events and tables of runs, if known. */
  readonly storeFreeBytes?: (() => Promise<number | undefined>) | undefined;
  /** Whether tables of runs are on the disk of staging, if known. */
  readonly tablesBesideStaging?: (() => Promise<boolean>) | undefined;
  /** Time limit of a run's preflight, ms; without it there is no preflight, because the command has done it. */
  readonly preflightMs?: number;
}

/** AssembleDeps for a preflight, which only probes the target. */
type PreflightAssembly = Pick<
  AssembleDeps,
  | 'staging'
  | 'quota'
  | 'clock'
  | 'openSource'
  | 'openTransform'
  | 'words'
  | 'agreement'
  | 'expiredBefore'
  | 'storeFreeBytes'
  | 'tablesBesideStaging'
> & { readonly openTarget: () => Promise<ProbedTarget | undefined>; readonly timeLimitMs: number };

export function assemblePreflight(deps: PreflightAssembly): Preflight {
  return createPreflight(deps);
}

/** Assembles the stages of a run. Dispose of them when the worker releases the run. */
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
      // A replacing run checked the source before its undo; after that it has to continue.
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
        expiredBefore: deps.expiredBefore,
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
      trackingPlan: deps.trackingPlan,
      keptOut: deps.keptOut,
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

/** Returns whether other runs of this service load into the same project. */
function sharesLinks({ store }: StageDeps, { run }: LeasedRun): boolean {
  return store !== undefined && run.options.target.kind === 'project';
}

/** Checks again, before the first event is loaded, if another run has stored some of the links since the check. */
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
    const hasBegun = (await leased.days()).some(({ accepted, framesLoaded }) => accepted + framesLoaded > 0);
    if (hasBegun || !(await hasLoadSinceCheck(deps.db, run))) return;
    const links = { runStore, reader, run: { projectId: run.projectId, runId: run.id }, signal };
    const retry = createTargetRetry({ leased, clock: deps.clock });
    if (!(await retry(() => hasLinksElsewhere(links)))) return;
    await discardCheck(deps.staging, leased);
  }
  // Without a result, this check was interrupted.
  await deps.check(leased);
}

const sourcePrefix = 'source:';

/** Opens a file, or a table that the run's source provides: `source:Products`. */
function tableOpener({ openSource, openTable }: AssembleDeps): AssembleDeps['openTable'] {
  return async (table) => {
    if (table.startsWith(sourcePrefix)) {
      const own = (await openSource()).openTable?.(table.slice(sourcePrefix.length).trim());
      if (own !== undefined) return own;
      throw new SourceError(`expected a source that provides tables, to join ${table}; this one does not: give a file`);
    }
    if (openTable === undefined) throw new SourceError(`expected a way to read the table ${table}, got none`);
    return await openTable(table);
  };
}

const undoElsewhere =
  'expected a run that loaded into a project of this service, got one that sent its events elsewhere; undo it there';

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

/** Fails or waits before anything is undone if the agreement does not allow the events that replace it. */
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
  if (isWaiting) throw new TargetWaitError(`${finding.message}; nothing is undone before it is approved`);
}

/** Runs the preflight before anything is fetched; a resumed run has passed it. Throws RunFailedError with what to change. */
async function passPreflight(deps: AssembleDeps, leased: LeasedRun): Promise<void> {
  const { run, signal } = leased;
  const { preflightMs: timeLimitMs } = deps;
  if (timeLimitMs === undefined || run.options.preflight === false || (await leased.parts()).length > 0) return;
  const preflight = createPreflight({ ...deps, timeLimitMs });
  const result = await preflight({ options: run.options, signal });
  await writeResult(deps, run.id, result);
  if (result.verdict === 'failed') {
    throw new RunFailedError(`${problemsText(result)} Then ${deps.words.resume}.`);
  }
}

/** Writes the result, unless staging is not writable, which the result reports itself. */
async function writeResult({ staging }: AssembleDeps, run: string, result: PreflightResult): Promise<void> {
  try {
    await staging.write(stagingKeys.preflight(run), [Buffer.from(JSON.stringify(result))]);
  } catch (error) {
    const isKnown = result.findings.some(({ check, level }) => check === 'staging' && level === 'problem');
    if (!isKnown) throw error;
  }
}
