import { repeat } from '../../base/repeat.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { pauseSilentRuns } from '../run/reported-runs.ts';
import { advanceSchedule, type AdvanceDeps } from './advance.ts';
import { schedulesToCheck } from './schedule.ts';

interface FollowSchedulesDeps extends AdvanceDeps {
  readonly clock: DatabaseClock;
  readonly log: Log;
  /** Aborting ends it after the poll in progress. */
  readonly signal: AbortSignal;
  /** Default 5,000. */
  readonly pollMs?: number;
}

/** Starts the runs of schedules when they are due, in every process with that role. Resolves after the signal. */
export async function followSchedules(deps: FollowSchedulesDeps): Promise<void> {
  const { db, clock, log, signal, pollMs = 5000 } = deps;
  const onTrouble = (err: unknown): void =>
    log.error({ err }, 'import schedules: metadata store unavailable; retrying');
  const poll = async (): Promise<void> => {
    const now = await clock.now();
    await pauseSilentRuns(db, now);
    for (const { configId } of await schedulesToCheck(db, now)) {
      // A schedule that fails must not delay the others.
      await advanceSchedule(deps, configId, now).catch((err: unknown) =>
        log.error({ err, config: configId }, 'import schedule: failed to advance; retrying'),
      );
    }
  };
  await repeat(pollMs, poll, { signal, onTrouble });
}
