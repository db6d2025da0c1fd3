/**
 * The pipeline's thread. It opens its own connections to the stores of the main thread, so that nothing it does holds up an
 * answer to a client.
 */
import { systemClock } from '../base/clock.ts';
import { createFailpoint } from '../base/failpoint.ts';
import { startPipeline } from '../pipeline/consumer.ts';
import { WindowStorage } from '../plugins/services/window-storage.ts';
import { makeStep } from '../transform/make-step.ts';
import type { Watch } from '../live/watch.ts';
import { liveReadersOver } from './live-thread.ts';
import { mainThreadOver } from './main-thread.ts';
import { createPluginRuntime } from './plugin-runtime.ts';
import { openEventLogReader, openEventStore, openMetadata } from './stores.ts';
import { openThread } from './thread.ts';

const { settings, shared, log, metrics, call, serve } = openThread();
const { db } = await openMetadata(settings, log);
const reader = await openEventLogReader(settings, shared.eventLog);
const store = await openEventStore(settings, shared.embedded);
const base = { settings, log, metrics, db, clock: systemClock };
const pluginStorage = new WindowStorage(db);
const plugins = createPluginRuntime({
  ...base,
  thread: 'pipeline',
  main: mainThreadOver(call),
  storageOf: (configId, projectId) => pluginStorage.of(configId, projectId),
});
const live = await liveReadersOver(call, log);
const pipeline = startPipeline({
  ...base,
  live,
  reader,
  store,
  makeStep: (config) => makeStep(config, plugins.steps),
  pluginStorage,
  logFailure: plugins.logFailure,
  failpoint: createFailpoint(settings.failAt, settings.allowFailpoints),
});

serve({
  health: () => plugins.health(),
  answers: { watch: async (watches: readonly Watch[]) => live.tap.watch(watches) },
  stop: async () => {
    await pipeline.stop();
    await plugins.close();
    await reader.close();
    await store.close();
    await db.destroy();
  },
});
