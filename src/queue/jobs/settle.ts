import type { Clock } from '../../base/clock.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import type { StoredConfig } from '../../plugins/configs/stored-config.ts';
import { recordErrors } from '../../plugins/services/errors.ts';
import type { InstanceServices } from '../../plugins/sandbox/sandbox.ts';
import type { Log } from '../../server/telemetry/log.ts';
import { labelOf, type RunOutcome } from './outcome.ts';
import { fail, lockConfigOfJob, postpone, release, remove, succeed, type Job } from './queue.ts';
import { countRun, reportFailure, reportSuccess, shownError, toPluginFailure } from './report.ts';

export interface SettleDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Tells when what is put off is due, and what is shown of it. */
  readonly databaseClock: DatabaseClock;
  readonly log: Log;
  readonly services: ((config: StoredConfig) => Pick<InstanceServices, 'log'>) | undefined;
}

export interface Attempt {
  readonly job: Job;
  readonly config: StoredConfig | undefined;
  readonly outcome: RunOutcome;
  /** How long it took. */
  readonly ms: number;
}

/** Writes what became of an attempt: the job, the config's error, metrics and errors, in one transaction. */
export async function settle(deps: SettleDeps, attempt: Attempt): Promise<void> {
  const now = await deps.databaseClock.now();
  const { job, config, outcome } = attempt;
  const isOurs = await deps.db.transaction().execute(async (tx) => {
    // The config first, as in queue.ts: rows locked in another order could wait for each other.
    const isThere = await lockConfigOfJob(tx, job.configId);
    // Then what the lease decides: who lost it writes nothing.
    if (!(await writeJob(tx, attempt, now))) return false;
    if (config === undefined || !isThere) return true;
    await writeReport(tx, attempt, now);
    const { counts, failures = [] } = outcome;
    if (counts !== undefined) await countRun(tx, config, { ...counts, ms: attempt.ms }, now);
    const method = job.type;
    const shown = failures.map((failure) => toPluginFailure(config, failure, { method, now }));
    await recordErrors(tx, shown);
    return true;
  });
  tell(deps, attempt, isOurs);
}

/** False: the lease is lost. */
function writeJob(tx: Queries, { job, config, outcome }: Attempt, now: number): Promise<boolean> {
  switch (outcome.kind) {
    case 'done':
      return job.kind === 'delivery' ? remove(tx, job) : succeed(tx, job, now);
    case 'stopped':
      return release(tx, job, outcome.more?.payload);
    case 'postponed': {
      const { delayMs } = outcome;
      return postpone(tx, job, { now, delayMs, error: shownError(outcome.error, config) });
    }
    case 'skipped':
      return fail(tx, job, { error: outcome.reason, now, delayMs: 0, final: true });
    case 'retry':
    case 'failed': {
      const delayMs = outcome.kind === 'retry' ? outcome.delayMs : 0;
      const final = outcome.kind === 'failed';
      return fail(tx, job, { error: shownError(outcome.error, config), now, delayMs, final, ...outcome.more });
    }
  }
}

async function writeReport(tx: Queries, { job, config, outcome }: Attempt, now: number): Promise<void> {
  const what = labelOf(job);
  if (outcome.kind === 'done') await reportSuccess(tx, job.configId, what, now);
  if (outcome.kind !== 'retry' && outcome.kind !== 'failed') return;
  await reportFailure(tx, job.configId, { what, text: shownError(outcome.error, config), now });
}

function tell({ log, clock, services }: SettleDeps, { job, config, outcome }: Attempt, isOurs: boolean): void {
  const about = { job: job.id, type: job.type, config: job.configId, attempt: job.attempts };
  if (!isOurs) {
    log.warn(about, 'a job was taken up elsewhere: its outcome here does not count');
    return;
  }
  // Ticks and deliveries come all day long.
  if (outcome.kind === 'done') {
    log[job.kind === 'started' ? 'info' : 'debug'](about, 'job done');
    return;
  }
  if (outcome.kind === 'stopped') return;
  const reason = outcome.kind === 'skipped' ? outcome.reason : shownError(outcome.error, config);
  log.warn({ ...about, reason }, outcome.kind === 'postponed' ? 'job postponed' : 'job failed');
  if (config === undefined || services === undefined || outcome.kind === 'postponed') return;
  const message = `${labelOf(job)} failed: ${reason}`;
  const source = outcome.kind === 'skipped' ? 'SYSTEM' : 'PLUGIN';
  services(config).log({ time: clock.now(), level: 'ERROR', source, message, instanceId: job.id });
}
