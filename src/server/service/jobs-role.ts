/** The role `jobs`: imports in a separate process, jobs and schedules of plugins and imports, replays of dead letters, background tasks, retention. */
import type { Answers } from '../../base/calls.ts';
import { createProjectIngest, hasFiledAgreement } from '../../imports/targets/project-ingest.ts';
import { runFigures } from '../../imports/run/run-figures.ts';
import { importRunStates } from '../../wire/contract/import-run-states.ts';
import { followSchedules } from '../../imports/schedules/follow-schedules.ts';
import { taskStates } from '../../stores/metadata/tables/tasks.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import { builtInRegistry } from '../../plugins/built-in/registry.ts';
import { ingestAnswers } from './import-ingest.ts';
import { startJobs, type StartedPlugins } from './plugins.ts';
import { followHeldRuns } from './held-runs.ts';
import { importMemoryBytesMax, importMemoryEnv } from './import-limits.ts';
import type { ServiceDeps } from './service-deps.ts';
import { answersOfEnds } from './stored-so-far.ts';
import { hostThread, type ThreadHost } from './thread-host.ts';
import { runReplays } from '../../pipeline/replay-runner.ts';
import { removeExpiredNightly } from '../../pipeline/remove-expired.ts';
import { applyRetention } from '../../pipeline/retention.ts';
import { createServiceErasures } from './erasures.ts';
import { runTasks } from '../../queue/tasks/task-runner.ts';
import { erasureKind } from '../../queue/erasures/erasure.ts';
import { createReplays, replayKind } from '../../queue/replays/replay-events.ts';
import { taskFigures } from '../../queue/tasks/task-figures.ts';
import type { TaskKind } from '../../queue/tasks/task.ts';
import { exportKindName } from '../../stores/export/run-export.ts';
import { personByUuid } from '../../pipeline/persons/read-persons.ts';

/** Returns the import process, not started yet. `parts` receives what must be stopped. */
export function startJobsRole(deps: ServiceDeps, plugins: StartedPlugins, parts: AsyncDisposableStack): ThreadHost {
  const { settings, shared, metrics, log } = deps;
  startJobs(deps, plugins.runtime, parts);
  startReplays(deps, parts);
  startSchedules(deps, parts);
  startRetention(deps, parts);
  startTasks(deps, taskKinds(deps), parts);
  // Runs are resumed: each stage keeps its progress in the metadata store.
  const held = followHeldRuns(deps);
  const imports = hostThread(
    {
      name: 'imports',
      entry: new URL('./import-process.ts', import.meta.url),
      data: { settings, shared },
      process: { memoryBytesMax: importMemoryBytesMax(settings), memoryLimit: importMemoryEnv },
    },
    {
      metrics,
      log,
      answers: { ...ingestsOf(deps), ...answersOfEnds(deps.eventLog), ...held.answers },
      onEnd: held.noteDeaths,
    },
  );
  parts.defer(() => imports.stop());
  metrics.beforeText(() => gaugeRuns(deps));
  metrics.beforeText(() => gaugeTasks(deps));
  return imports;
}

function startSchedules({ db, log }: ServiceDeps, parts: AsyncDisposableStack): void {
  const stop = new AbortController();
  const clock = createDatabaseClock(db);
  const following = followSchedules({ db, log, clock, registry: builtInRegistry, signal: stop.signal });
  parts.defer(() => {
    stop.abort();
    return following;
  });
}

function ingestsOf({ db, ingest, agreements, clock }: ServiceDeps): Answers {
  const isFiled = (projectId: number): Promise<boolean> => hasFiledAgreement(db, projectId);
  return ingestAnswers((owner) => createProjectIngest({ ...owner, ingest, agreements, isFiled, clock }));
}

async function gaugeRuns({ metrics, db, clock }: ServiceDeps): Promise<void> {
  const { byState, waiting, stalledMs } = await runFigures(db, clock.now());
  for (const state of importRunStates) metrics.set('millrace_import_runs', { state }, byState[state] ?? 0);
  metrics.set('millrace_import_runs_waiting', {}, waiting);
  metrics.set('millrace_import_stalled_seconds', {}, stalledMs / 1000);
}

async function gaugeTasks({ metrics, db }: ServiceDeps): Promise<void> {
  for (const [kind, { byState, waiting }] of await taskFigures(db, [erasureKind, exportKindName, replayKind])) {
    for (const state of taskStates) metrics.set('millrace_tasks', { kind, state }, byState[state]);
    metrics.set('millrace_tasks_waiting', { kind }, waiting);
  }
}

/** Starts background replays of dead letters. `parts` receives what must be stopped. */
function startReplays({ settings, ...deps }: ServiceDeps, parts: AsyncDisposableStack): void {
  const stop = new AbortController();
  const running = runReplays({ ...deps, eventBytesMax: settings.captureEventBytesMax, signal: stop.signal });
  parts.defer(() => {
    stop.abort();
    return running;
  });
}

/** Starts the removal of old rows and of expired events. `parts` receives what must be stopped. */
function startRetention({ settings, db, store, log, metrics }: ServiceDeps, parts: AsyncDisposableStack): void {
  const stop = new AbortController();
  const { deadLetterDays, countDays, activityDays } = settings;
  const clock = createDatabaseClock(db);
  const { signal } = stop;
  const running = Promise.all([
    applyRetention({ db, log, clock, deadLetterDays, countDays, activityDays, signal }),
    removeExpiredNightly({ db, store, log, metrics, clock, hour: settings.retentionHour, signal }),
  ]);
  parts.defer(async () => {
    stop.abort();
    await running;
  });
}

/** How each kind of background task is executed. */
function taskKinds(deps: ServiceDeps): readonly TaskKind[] {
  const { db, store } = deps;
  const idsOfPerson = async (projectId: number, uuid: string): Promise<readonly string[]> =>
    (await personByUuid(db, projectId, uuid))?.distinct_ids ?? [];
  const replays = createReplays({ db, store, idsOfPerson, clock: createDatabaseClock(db) });
  return [replays, createServiceErasures(deps)];
}

/** Starts background tasks of these kinds. `parts` receives what must be stopped. */
function startTasks({ db, log }: ServiceDeps, kinds: readonly TaskKind[], parts: AsyncDisposableStack): void {
  const stop = new AbortController();
  const running = runTasks({ db, log, signal: stop.signal }, kinds);
  parts.defer(() => {
    stop.abort();
    return running;
  });
}
