/** The role `pipeline`, in a thread of its own. */
import { liveAnswers, watchedBy } from './live-thread.ts';
import { answersOf } from './main-thread.ts';
import type { StartedPlugins } from './plugins.ts';
import type { ServiceDeps } from './service-deps.ts';
import { hostThread, type ThreadHost } from './thread-host.ts';

/** The thread of the pipeline, not started yet. `parts` takes what has to be stopped. */
export function startPipelineRole(deps: ServiceDeps, plugins: StartedPlugins, parts: AsyncDisposableStack): ThreadHost {
  const { settings, shared, scans, metrics, log, live } = deps;
  // What it had not committed is read from the log again: when it dies, nothing is lost and nothing doubled.
  const pipeline = hostThread(
    { name: 'pipeline', entry: new URL('./pipeline-thread.ts', import.meta.url), data: { settings, shared }, scans },
    {
      metrics,
      log,
      answers: { ...answersOf(plugins.mainThread), ...liveAnswers(live) },
      onReady: watchedBy(live, log),
    },
  );
  parts.defer(() => pipeline.stop());
  return pipeline;
}
