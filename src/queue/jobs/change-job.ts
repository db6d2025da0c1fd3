import { isoMicros } from '../../base/clock.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { writeActivities, type Actor } from '../../stores/metadata/activity.ts';
import { shownName, toRecord } from '../../plugins/configs/config-record.ts';
import type { ConfigSnapshot } from '../../plugins/configs/save-changes.ts';
import { findAnyConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { findJob, moveJobs, type Job, type JobSummary } from './queue.ts';

const cancelledError = 'cancelled before it ran';

/** The result of a change. The sentence of `refused` says why nothing changed. */
type JobChange =
  | { readonly kind: 'changed'; readonly job: Job }
  | { readonly kind: 'refused'; readonly sentence: string }
  | { readonly kind: 'unknown' };

interface ChangeOrder {
  readonly projectId: number;
  readonly id: string;
  readonly actor: Actor;
  /** ms since the epoch. */
  readonly now: number;
}

/** Makes a failed job due immediately, with all its attempts available again. `tx` is a transaction. */
export async function retryJob(tx: Queries, order: ChangeOrder): Promise<JobChange> {
  const job = await findJob(tx, order.projectId, order.id);
  if (job === undefined) return { kind: 'unknown' };
  const config = await findAnyConfig(tx, job.configId, order.now);
  if (config === undefined) return { kind: 'refused', sentence: 'The config of this job was deleted.' };
  const time = isoMicros(order.now);
  const fresh = { attempts: 0, run_at: time, since: time, error: '', finished_at: null };
  const { numUpdatedRows } = await moveJobs(tx, 'retry', fresh).where('id', '=', job.id).executeTakeFirst();
  if (numUpdatedRows === 0n) return refused('Only a failed job can be retried', job);
  return changed(tx, order, job, { config, activity: 'job_retried' });
}

/** Ends a queued job as failed. `tx` is a transaction. */
export async function cancelJob(tx: Queries, order: ChangeOrder): Promise<JobChange> {
  const job = await findJob(tx, order.projectId, order.id);
  if (job === undefined) return { kind: 'unknown' };
  const ended = { error: cancelledError, finished_at: isoMicros(order.now) };
  const { numUpdatedRows } = await moveJobs(tx, 'cancel', ended).where('id', '=', job.id).executeTakeFirst();
  if (numUpdatedRows === 0n) return refused('Only a queued job can be cancelled', job);
  const config = await findAnyConfig(tx, job.configId, order.now);
  return changed(tx, order, job, { config, activity: 'job_cancelled' });
}

function refused(rule: string, { state }: JobSummary): JobChange {
  return { kind: 'refused', sentence: `${rule}; this one is ${state}.` };
}

/** Records in the config's log who changed the job. The config itself did not change, so no process rereads it. */
async function changed(
  tx: Queries,
  { actor, now, projectId }: ChangeOrder,
  before: Job,
  of: { readonly config: StoredConfig | undefined; readonly activity: string },
): Promise<JobChange> {
  const job = await findJob(tx, projectId, before.id);
  if (job === undefined) return { kind: 'unknown' };
  const { config, activity } = of;
  if (config !== undefined) {
    const shown = ({ id, type, state }: JobSummary) => ({ id, type, state });
    const snapshot: ConfigSnapshot = { family: config.family, record: toRecord(config) };
    await writeActivities(tx, actor, [
      {
        projectId,
        scope: 'PluginConfig',
        itemId: String(config.id),
        activity,
        name: shownName(config),
        changes: [{ field: 'job', action: 'changed', before: shown(before), after: shown(job) }],
        snapshot,
        createdAt: isoMicros(now),
      },
    ]);
  }
  return { kind: 'changed', job };
}
