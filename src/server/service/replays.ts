import { runReplays } from '../../pipeline/replay-runner.ts';
import type { ServiceDeps } from './service-deps.ts';

/** Replays of dead letters that were asked for. `parts` takes what has to be stopped. */
export function startReplays({ settings, ...deps }: ServiceDeps, parts: AsyncDisposableStack): void {
  const stop = new AbortController();
  const running = runReplays({ ...deps, eventBytesMax: settings.captureEventBytesMax, signal: stop.signal });
  parts.defer(() => {
    stop.abort();
    return running;
  });
}
