import { hostThread, type HostDeps, type ThreadHost } from './host-thread.ts';
import type { PipelineThreadData } from './pipeline-thread.ts';

/**
 * Runs the pipeline in a thread of its own, and starts it again when it dies. What it had not committed is read from the
 * log again, so nothing is lost and nothing doubled by that.
 */
export function hostPipeline(data: PipelineThreadData, deps: HostDeps): ThreadHost {
  return hostThread({ name: 'pipeline', entry: new URL('./pipeline-thread.ts', import.meta.url), data }, deps);
}
