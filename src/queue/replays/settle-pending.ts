import type { JsonObject } from '../../base/json.ts';
import type { EventReplayProgress } from '../../wire/contract/event-replays.ts';
import type { Queries } from '../../stores/metadata/queries.ts';

/**
 * Counts the deliveries that are decided by now: rows of successful ones are removed, failed ones keep the events that were rejected.
 * Returns the same object if nothing was decided.
 */
export async function settlePending(db: Queries, progress: EventReplayProgress): Promise<EventReplayProgress> {
  if (progress.pending.length === 0) return progress;
  const ids = progress.pending.map(({ job }) => job);
  const rows = await db.selectFrom('jobs').select(['id', 'state']).where('id', 'in', ids).execute();
  const stateOf = new Map(rows.map(({ id, state }) => [id, state]));
  const pending = progress.pending.filter(({ job }) => ['queued', 'running'].includes(stateOf.get(job) ?? ''));
  if (pending.length === progress.pending.length) return progress;
  let { delivered, failed } = progress;
  const failedJobs = [...progress.failed_jobs];
  for (const { job, events } of progress.pending) {
    const state = stateOf.get(job);
    if (state === 'queued' || state === 'running') continue;
    const rejected = state === 'failed' ? await rejectedEvents(db, job) : 0;
    if (state === 'failed') failedJobs.push(job);
    failed += rejected;
    delivered += events - rejected;
  }
  return { ...progress, pending, delivered, failed, failed_jobs: failedJobs };
}

async function rejectedEvents(db: Queries, job: string): Promise<number> {
  const row = await db.selectFrom('jobs').select('payload').where('id', '=', job).executeTakeFirst();
  const { events } = (row === undefined ? {} : JSON.parse(row.payload)) as JsonObject;
  return Array.isArray(events) ? events.length : 0;
}
