/** Erasures of this process: the parts that they need of the log, of staging and of the stores. */
import { createFailpoint } from '../../base/failpoint.ts';
import { eraseStaged, findStagedMentions } from '../../imports/run/erase-staged.ts';
import { lanes, type EventLogWriter, type Lane } from '../../log/eventlog.ts';
import { slotOfPart } from '../../log/slot-of.ts';
import { readCursor } from '../../pipeline/cursors.ts';
import { createErasures, type ErasureDeps } from '../../queue/erasures/erasure.ts';
import type { RunRef } from '../../stores/events/eventstore.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { forgetWrites } from '../../stores/metadata/forget-writes.ts';
import { getProject } from '../../stores/metadata/projects.ts';
import type { ServiceDeps } from './service-deps.ts';
import { openEventStore } from './stores.ts';

export function createServiceErasures(deps: ServiceDeps): ReturnType<typeof createErasures> {
  const { db, store, settings, staging, eventLog } = deps;
  const clock = createDatabaseClock(db);
  return createErasures({
    db,
    store,
    clock,
    staged: {
      find: (projectId, ids) => findStagedMentions({ db, staging }, projectId, ids),
      remove: async (projectId, runId) => {
        const dropTables = (run: RunRef): Promise<void> => dropTablesOf(deps, run);
        await eraseStaged({ db, staging, dropTables, now: await clock.now() }, { projectId, runId });
      },
    },
    log: logOf(db, eventLog),
    failpoint: createFailpoint(settings.failAt, settings.allowFailpoints),
  });
}

async function dropTablesOf({ settings, shared }: ServiceDeps, run: RunRef): Promise<void> {
  const { runTables, close } = await openEventStore(settings, shared.embedded);
  try {
    await runTables.drop(run);
  } finally {
    await close();
  }
}

function logOf(db: Metadata, log: EventLogWriter): ErasureDeps['log'] {
  return {
    async ends(projectId) {
      const parts = (await getProject(db, projectId))?.spreadMax ?? log.slots;
      const slots = new Set(Array.from({ length: parts }, (_, part) => slotOfPart(projectId, part, log.slots)));
      const ends = [...slots].flatMap((slot) =>
        lanes.map(async (lane) => ({ slot, lane, seq: await log.end(lane, slot) })),
      );
      return Promise.all(ends);
    },
    isStored: async ({ slot, lane, seq }) => (await readCursor(db, { slot, lane: lane as Lane })).seq >= seq,
    async forgetStored(signal) {
      const isForgotten = log.forgetStored !== undefined;
      await log.forgetStored?.(signal);
      await forgetWrites(db);
      return isForgotten;
    },
  };
}
