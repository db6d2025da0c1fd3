/** The role `worker`: the pipeline and the imports, each in a thread of its own, and the jobs of plugins. */
import type { Answers } from '../base/calls.ts';
import { createProjectDoor, hasFiledAgreement } from '../imports/targets/project-door.ts';
import { runFigures } from '../imports/run/run-figures.ts';
import { runStates } from '../imports/run/run.ts';
import { answersOfDoors } from './import-door.ts';
import { liveAnswers, watchedBy } from './live-thread.ts';
import { answersOf } from './main-thread.ts';
import { startJobs, type StartedPlugins } from './plugins.ts';
import { startReplays } from './replays.ts';
import type { ServiceDeps } from './service-deps.ts';
import { hostThread, type ThreadHost } from './thread-host.ts';

export interface Worker {
  readonly pipeline: ThreadHost;
  readonly imports: ThreadHost;
  /** Starts the threads. */
  run(): void;
}

/** `parts` takes what has to be stopped. */
export function startWorker(deps: ServiceDeps, plugins: StartedPlugins, parts: AsyncDisposableStack): Worker {
  const { settings, shared, metrics, log, live } = deps;
  const data = { settings, shared };
  // What it had not committed is read from the log again: when it dies, nothing is lost and nothing doubled.
  const pipeline = hostThread(
    { name: 'pipeline', entry: new URL('./pipeline-thread.ts', import.meta.url), data },
    {
      metrics,
      log,
      answers: { ...answersOf(plugins.mainThread), ...liveAnswers(live) },
      onReady: watchedBy(live, log),
    },
  );
  parts.defer(() => pipeline.stop());
  startJobs(deps, plugins.runtime, parts);
  startReplays(deps, parts);
  // Runs go on where they were: each stage keeps its place in the metadata store.
  const imports = hostThread(
    { name: 'imports', entry: new URL('./import-thread.ts', import.meta.url), data },
    { metrics, log, answers: doorsOf(deps) },
  );
  parts.defer(() => imports.stop());
  metrics.beforeText(() => gaugeRuns(deps));
  return {
    pipeline,
    imports,
    run: () => {
      pipeline.start();
      imports.start();
    },
  };
}

function doorsOf({ db, door, agreements, clock }: ServiceDeps): Answers {
  const isFiled = (projectId: number): Promise<boolean> => hasFiledAgreement(db, projectId);
  return answersOfDoors((owner) => createProjectDoor({ ...owner, door, agreements, isFiled, clock }));
}

async function gaugeRuns({ metrics, db, clock }: ServiceDeps): Promise<void> {
  const { byState, waiting, stalledMs } = await runFigures(db, clock.now());
  for (const state of runStates) metrics.set('millrace_import_runs', { state }, byState[state] ?? 0);
  metrics.set('millrace_import_runs_waiting', {}, waiting);
  metrics.set('millrace_import_stalled_seconds', {}, stalledMs / 1000);
}
