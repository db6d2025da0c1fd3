/**
 * The pipeline's thread. It opens its own connections to the stores, so that it never delays responses of the main thread.
 */
import { systemClock } from '../../base/clock.ts';
import { createFailpoint } from '../../base/failpoint.ts';
import { ScanReceiver } from '../../wire/batch/scan-relay.ts';
import { dropMarks } from '../../pipeline/log-marks.ts';
import { createSlotConsumers, type SlotConsumers } from '../../pipeline/slots/slot-consumers.ts';
import { makeStep } from '../../pipeline/transform/make-step.ts';
import type { Watch } from '../../pipeline/live/watch.ts';
import { sharedReaderDeps } from './shared-log-deps.ts';
import { publishOver, watchesOver } from './live-thread.ts';
import { mainThreadOver } from './main-thread.ts';
import { createPluginRuntime } from './plugin-runtime.ts';
import { connectionsPerThread, openEventLogReaders, openEventStore, openMetadata } from './stores.ts';
import { openTracing } from './telemetry.ts';
import { openThread } from './thread.ts';
import { newId } from '../../base/ids.ts';
import type { Settings } from '../config/settings.ts';
import type { HealthResult } from '../http/health.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createSlots, seizeSlot, SlotLostError, type SlotHold } from '../../stores/metadata/slot-leases.ts';
import type { Pipeline } from '../../pipeline/consumer.ts';
import { startSlotWorker } from '../../pipeline/slots/slot-worker.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { isCluster } from '../config/event-log-kind.ts';

/** Work on slots of the event log: the only one of a local log, or the share of a cluster's. */
interface SlotsDeps {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly db: Metadata;
  /** Number of slots in the log. */
  readonly slots: number;
  readonly consumers: Pick<SlotConsumers, 'start'>;
}

interface StartedSlots {
  health(): HealthResult;
  /** Finishes current work and releases every slot. */
  stop(): Promise<void>;
}

/** One for leases and one for everything else. */
const leaseConnections = 2;

async function startSlots(deps: SlotsDeps): Promise<StartedSlots> {
  return isCluster(deps.settings) ? await startShared(deps) : await startOwn(deps);
}

/** A local log belongs to this process: a previous holder is gone, so there is no lease to wait for. */
async function startOwn({ settings, metrics, db, consumers }: SlotsDeps): Promise<StartedSlots> {
  const hold = await seizeSlot(db, 0, newId());
  const pipeline: Pipeline = await consumers.start(fencedAs(settings, hold));
  let isStopping = false;
  const ended = pipeline.done.then(() => {
    if (!isStopping) throw new SlotLostError('expected to keep the slot of the log, got: another process has it');
  });
  metrics.set('millrace_slots_held', {}, 1);
  return {
    health: () => ({ ok: true }),
    stop: async () => {
      isStopping = true;
      await pipeline.stop();
      await ended;
    },
  };
}

async function startShared({ settings, log, metrics, db, slots, consumers }: SlotsDeps): Promise<StartedSlots> {
  await createSlots(db, slots);
  const { db: leaseDb } = await openMetadata(settings, log, leaseConnections);
  const worker = startSlotWorker({
    db: leaseDb,
    owner: newId(),
    slots,
    start: (hold) => consumers.start(fencedAs(settings, hold)),
    log,
    metrics,
  });
  return {
    health: () => {
      const { failure } = worker.status();
      return failure === ''
        ? { ok: true }
        : { ok: false, detail: `${failure}. Other processes take over its slots where possible.` };
    },
    stop: async () => {
      await worker.stop();
      await leaseDb.destroy();
    },
  };
}

function fencedAs({ slotFence, allowFailpoints }: Settings, hold: SlotHold): SlotHold {
  return slotFence || !allowFailpoints ? hold : { ...hold, unfenced: true };
}

const { settings, shared, scans, log, metrics, call, serve } = openThread();
const { db } = await openMetadata(settings, log, connectionsPerThread(settings));
if (settings.eventLogRetentionHours === 0) await dropMarks(db);
const readers = await openEventLogReaders(settings, shared.eventLog, sharedReaderDeps({ settings, db, metrics, log }));
const store = await openEventStore(settings, shared.embedded);
const base = { settings, log, metrics, db, clock: systemClock };
const plugins = createPluginRuntime({
  ...base,
  thread: 'pipeline',
  main: mainThreadOver(call),
  storageOf: (configId, projectId) => consumers.storageOf(configId, projectId),
});
const tracing = await openTracing(settings, log);
const consumers = createSlotConsumers({
  ...base,
  tracing,
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
    await tracing?.close();
    await plugins.close();
    await readers.close();
    await store.close();
    await db.destroy();
  },
});
