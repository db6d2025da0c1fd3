/**
 * The pipeline's thread. It opens its own connections to the stores of the main thread, so that nothing it does holds up an
 * answer to a client.
 */
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import { ScanReceiver } from '../../wire/batch/scan-relay.ts';
import { createSlotConsumers } from '../../pipeline/slots/slot-consumers.ts';
import { makeStep } from '../../pipeline/transform/make-step.ts';
import type { Watch } from '../../pipeline/live/watch.ts';
import { kafkaReaderDeps } from './kafka-log-deps.ts';
import { publishOver, watchesOver } from './live-thread.ts';
import { mainThreadOver } from './main-thread.ts';
import { createPluginRuntime } from './plugin-runtime.ts';
import { startSlots } from './start-slots.ts';
import { connectionsPerThread, openEventLogReaders, openEventStore, openMetadata } from './stores.ts';
import { openThread } from './thread.ts';

const { settings, shared, scans, log, metrics, call, serve } = openThread();
const { db } = await openMetadata(settings, log, connectionsPerThread(settings));
const readers = await openEventLogReaders(settings, shared.eventLog, kafkaReaderDeps(metrics, log));
const store = await openEventStore(settings, shared.embedded);
const base = { settings, log, metrics, db, clock: systemClock };
const plugins = createPluginRuntime({
  ...base,
  thread: 'pipeline',
  main: mainThreadOver(call),
  storageOf: (configId, projectId) => consumers.storageOf(configId, projectId),
});
const consumers = createSlotConsumers({
  ...base,
  slots: readers.slots,
  openReader: async (slot) => readers.reader(slot),
  store,
  makeStep: (config, onSetup) => makeStep(config, plugins.steps, onSetup),
  logFailure: plugins.logFailure,
  failpoint: createFailpoint(settings.failAt, settings.allowFailpoints),
  publish: publishOver(call, log),
  scans: scans && new ScanReceiver(scans),
});
consumers.watch(await watchesOver(call));
const slots = await startSlots({ ...base, slots: readers.slots, consumers });

serve({
  health: async () => {
    const own = slots.health();
    return own.ok ? await plugins.health() : own;
  },
  answers: { watch: async (watches: readonly Watch[]) => consumers.watch(watches) },
  stop: async () => {
    await slots.stop();
    await plugins.close();
    await readers.close();
    await store.close();
    await db.destroy();
  },
});
