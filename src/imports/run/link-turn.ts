import { setTimeout as delay } from 'node:timers/promises';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { holdLease } from '../../stores/metadata/named-leases.ts';
import type { LeasedRun } from './leased-run.ts';
import type { Run } from './run.ts';

/**
 * Lets one run of a project at a time decide which links and group events it stores, and load them. Otherwise two runs that find the
 * same link on different days would both store it. A run holds the turn from the decision in its check to the end of its load, and takes
 * it again after a pause.
 */
export interface LinkTurn extends AsyncDisposable {
  /** Waits until no other run holds the turn. May be called again while it is held. Rejects when the run is paused or lost. */
  take(leased: LeasedRun): Promise<void>;
  release(): Promise<void>;
}

/** Twice the lease of a run: without the store a run loses its own lease first and stops. A resumed run keeps its turn. */
const leaseMs = 60_000;
const pollMs = 250;

export function createLinkTurn(db: Metadata): LinkTurn {
  const clock = createDatabaseClock(db);
  let drop: (() => Promise<void>) | undefined;
  const release = async (): Promise<void> => {
    const held = drop;
    drop = undefined;
    await held?.();
  };
  return {
    take: async (leased) => {
      const { id, projectId } = leased.run;
      // The run's own lease excludes a second worker, so the next worker may use the turn of the previous one.
      const lease = { name: `import links ${projectId}`, owner: id };
      for (;;) {
        drop ??= await holdLease(
          // Failed renewals are retried; the worker reports the same failure when it renews the run's lease.
          { db, clock, leaseMs, onLost: () => (drop = undefined), onTrouble: () => undefined },
          lease,
        );
        if (drop !== undefined) break;
        leased.waiting({
          reason: 'another run of this project loads links between ids; this run continues once they are stored',
        });
        await delay(pollMs, undefined, { signal: leased.signal });
      }
      leased.waiting(null);
    },
    release,
    [Symbol.asyncDispose]: release,
  };
}

/** Whether another run loaded events into the project after the check of this one began. */
export async function hasLoadSinceCheck(db: Metadata, { id, projectId, progress }: Run): Promise<boolean> {
  const since = progress.check?.startedAt ?? 0;
  const rows = await db
    .selectFrom('import_runs as run')
    .innerJoin('import_loads as load', 'load.run_id', 'run.id')
    .select('run.progress')
    .where('run.project_id', '=', projectId)
    .where('run.id', '!=', id)
    .where('load.target', '=', 'project')
    .execute();
  return rows.some((row) => {
    const { load } = JSON.parse(row.progress) as Run['progress'];
    return load !== undefined && (load.lastProgressAt ?? load.startedAt ?? 0) >= since;
  });
}
