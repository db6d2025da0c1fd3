/**
 * A worker of slots in a separate process, which writes into each slot that it holds, again and again. Arguments: the URL of
 * PostgreSQL, the number of slots, the length of a lease (ms), and how far its clock is off (ms). Leaves at SIGTERM.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { newId } from '../../src/base/ids.ts';
import { openPostgres } from '../../src/stores/metadata/postgres.ts';
import { holdSlot, SlotLostError, type SlotHold } from '../../src/stores/metadata/slot-leases.ts';
import type { Pipeline } from '../../src/pipeline/consumer.ts';
import { startSlotWorker } from '../../src/pipeline/slots/slot-worker.ts';
import { createLog } from '../../src/server/telemetry/log.ts';
import { createMetrics } from '../../src/server/telemetry/metrics.ts';

const [url = '', slots = '1', leaseMs = '10000', clockMs = '0'] = process.argv.slice(2);
const now = Date.now.bind(Date);
Date.now = () => now() + Number(clockMs);

const db = openPostgres(url);
const worker = startSlotWorker({
  db: openPostgres(url),
  owner: `${process.pid}-${newId()}`,
  slots: Number(slots),
  start: async (hold) => startWriting(hold),
  log: createLog('silent'),
  metrics: createMetrics(),
  leaseMs: Number(leaseMs),
});

function startWriting(hold: SlotHold): Pipeline {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await write(hold);
      } catch (error) {
        if (error instanceof SlotLostError) return;
        await sleep(50);
      }
    }
  };
  const done = run();
  return {
    done,
    stop: async () => {
      stopping.abort();
      await done;
    },
    status: () => ({ running: true, failure: '', stored: { live: 0, historical: 0 } }),
  };
}

/** A write of an older claim after one of a later claim is wrong. Most of the time it is within a transaction. */
async function write({ slot, epoch, ...hold }: SlotHold): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await holdSlot(tx, { slot, epoch, ...hold });
    await sleep(20);
    await sql`update slot_writes set count = count + 1, late = late + case when epoch > ${epoch} then 1 else 0 end,
      epoch = greatest(epoch, ${epoch}) where slot = ${slot}`.execute(tx);
  });
}

process.on('SIGTERM', () => void worker.stop().then(() => process.exit(0)));
