/** The work on slots of the event log: on the one of a log that the process owns, or on its share of a cluster's. */
import { newId } from '../../base/ids.ts';
import type { Settings } from '../config/settings.ts';
import type { HealthResult } from '../http/health.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { makeSlots } from '../../stores/metadata/slot-leases.ts';
import { seizeSlot, SlotLostError, type SlotHold } from '../../stores/metadata/slots.ts';
import type { Pipeline } from '../../pipeline/consumer.ts';
import type { SlotConsumers } from '../../pipeline/slots/slot-consumers.ts';
import { startSlotWorker } from '../../pipeline/slots/slot-worker.ts';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { isCluster } from './roles.ts';
import { openMetadata } from './stores.ts';

export interface SlotsDeps {
  readonly settings: Settings;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly db: Metadata;
  /** How many the log has. */
  readonly slots: number;
  readonly consumers: Pick<SlotConsumers, 'start'>;
}

export interface StartedSlots {
  health(): HealthResult;
  /** Finishes what is in hand, and gives every slot back. */
  stop(): Promise<void>;
}

/** One for the leases and one for what else comes. */
const leaseConnections = 2;

export async function startSlots(deps: SlotsDeps): Promise<StartedSlots> {
  return isCluster(deps.settings) ? await startShared(deps) : await startOwn(deps);
}

/** The files of the log are this process's alone: whoever had the slot before is gone, and there is no lease to wait for. */
async function startOwn({ settings, metrics, db, consumers }: SlotsDeps): Promise<StartedSlots> {
  const hold = await seizeSlot(db, 0, newId());
  const pipeline: Pipeline = await consumers.start(fencedAs(settings, hold));
  let isStopping = false;
  const ended = pipeline.done.then(() => {
    if (!isStopping) throw new SlotLostError('expected to keep the slot of the log, got: another has taken it');
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
  await makeSlots(db, slots);
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
        : { ok: false, detail: `${failure}. Other processes take its slots where they can.` };
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
