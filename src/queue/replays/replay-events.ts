import { setTimeout as delay } from 'node:timers/promises';
import { isoMicros } from '../../base/clock.ts';
import { dayMs } from '../../base/time.ts';
import type { EventReplayProgress, EventReplayResult, EventReplaySpec } from '../../wire/contract/event-replays.ts';
import { decodeCursor, encodeCursor } from '../../stores/events/cursor.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import type { EventFilter } from '../../stores/events/filters.ts';
import { listOldestFirst } from '../../stores/events/list-oldest-first.ts';
import { isoOfMicros, parseMicros } from '../../stores/events/micros.ts';
import type { StoredEvent } from '../../stores/events/reads.ts';
import { countSelected, selectionFilter } from '../../stores/events/selection.ts';
import type { DatabaseClock } from '../../stores/metadata/database-clock.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { addDeliveries, eventsPerJobMax, type DeliveryEvent } from '../jobs/deliveries.ts';
import { moveJobs } from '../jobs/queue.ts';
import { TaskFailedError, type HeldTask, type TaskKind } from '../tasks/task.ts';
import { settlePending } from './settle-pending.ts';

export interface ReplayDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  /** All distinct_ids of a person; none if there is no such person. */
  readonly idsOfPerson: (projectId: number, uuid: string) => Promise<readonly string[]>;
  readonly clock: DatabaseClock;
  /** Interval of polling deliveries, ms. Default 250. */
  readonly pollMs?: number;
}

type ReplayTask = HeldTask<EventReplaySpec, EventReplayProgress>;
type Kind = TaskKind<EventReplaySpec, EventReplayProgress, EventReplayResult>;

export const replayKind = 'event_replay';
/** Undecided deliveries of a replay: few, so that live events of the config do not wait long behind them. */
const pendingMax = 4;
/** As many failed deliveries are kept of a config, with their events; see queue/jobs/prune-jobs.ts. */
const failedJobsMax = 50;
const pollMsDefault = 250;
const keptMs = 90 * dayMs;

/**
 * Replays stored events, oldest first, as deliveries of the config: ordered and retried like those of live events. Enqueuing a page and
 * saving its position is one transaction, so that a page is enqueued once, however often the worker changes.
 */
export function createReplays(deps: ReplayDeps): Kind {
  return {
    name: replayKind,
    keptMs,
    run: (task) => replay(deps, task),
    cleanUp: async ({ progress }) => cancelPending(deps, progress as EventReplayProgress | undefined),
  };
}

async function replay(deps: ReplayDeps, task: ReplayTask): Promise<EventReplayResult> {
  let progress = task.progress ?? (await begin(deps, task));
  const pace = createPace(task.spec.events_per_second, progress.delivered + progress.failed);
  for (;;) {
    task.signal.throwIfAborted();
    const settled = await settlePending(deps.db, progress);
    if (settled !== progress) {
      progress = { ...settled, events_per_second: pace.average(settled) };
      await task.save(progress);
    }
    if (progress.failed_jobs.length >= failedJobsMax) throw await tooManyFailures(deps, progress);
    if (progress.is_read && progress.pending.length === 0) return resultOf(progress);
    if (!progress.is_read && progress.pending.length < pendingMax && pace.isDue()) {
      const passed = progress.pending.length;
      progress = await passPage(deps, task, progress);
      pace.passed(progress.pending.slice(passed).reduce((sum, { events }) => sum + events, 0));
    } else await delay(deps.pollMs ?? pollMsDefault, undefined, { signal: task.signal });
  }
}

async function begin(deps: ReplayDeps, task: ReplayTask): Promise<EventReplayProgress> {
  const received_before = isoMicros(await deps.clock.now());
  const total = await countSelected(deps.store, task.projectId, await filterOf(deps, task, received_before));
  const none = { delivered: 0, failed: 0, events_per_second: 0, pending: [], failed_jobs: [] };
  const progress = { total, ...none, received_before, position: null, is_read: false };
  await task.save(progress);
  return progress;
}

async function filterOf(
  { idsOfPerson }: ReplayDeps,
  { projectId, spec: { selection } }: ReplayTask,
  receivedBefore: string,
): Promise<EventFilter> {
  const filter = { ...selectionFilter(selection), receivedBefore: parseMicros(receivedBefore) };
  if (selection.person_id === undefined) return filter;
  const ids = await idsOfPerson(projectId, selection.person_id);
  const given = filter.distinctIds && new Set(filter.distinctIds);
  return { ...filter, distinctIds: given === undefined ? ids : ids.filter((id) => given.has(id)) };
}

/** Enqueues the deliveries of one page of events, and saves the position after it. */
async function passPage(
  deps: ReplayDeps,
  task: ReplayTask,
  progress: EventReplayProgress,
): Promise<EventReplayProgress> {
  const { spec, projectId } = task;
  const filter = await filterOf(deps, task, progress.received_before);
  const cursor = progress.position === null ? undefined : decodeCursor(progress.position);
  const limit = Math.min(eventsPerJobMax, spec.events_per_second ?? eventsPerJobMax);
  const { events, next } = await listOldestFirst(deps.store, projectId, filter, { limit, ...(cursor && { cursor }) });
  const page = { position: next === null ? progress.position : encodeCursor(next), is_read: next === null };
  const now = await deps.clock.now();
  return task.commit(async (tx) => {
    const delivered = events.map((event) => toDelivery(projectId, event));
    const delivery = { configId: spec.plugin_config, projectId, method: spec.method, events: delivered };
    const jobs: { job: string; events: number }[] = [];
    const skipped = await addDeliveries(tx, events.length === 0 ? [] : [delivery], now, (job) => jobs.push(job));
    if (events.length > 0 && (jobs.length === 0 || skipped.size > 0)) throw notAccepted(spec, skipped.size > 0);
    return { ...progress, ...page, pending: [...progress.pending, ...jobs] };
  });
}

function toDelivery(teamId: number, stored: StoredEvent): DeliveryEvent {
  const { uuid, event, distinctId, timestampMicros, receivedAtMicros, properties: propertiesText } = stored;
  const timestamp = isoOfMicros(timestampMicros);
  const receivedAt = Number(receivedAtMicros / 1000n);
  return { uuid, event, distinctId, teamId, timestamp, receivedAt, propertiesText, markers: null };
}

/** A full queue is temporary and retried; a config that is disabled or deleted is not. */
function notAccepted({ plugin_config: id }: EventReplaySpec, isFull: boolean): Error {
  if (isFull) return new Error(`the queue of config ${id} is full; it continues when deliveries have completed`);
  return new TaskFailedError(
    `expected config ${id} to be enabled, got one that is disabled or deleted; enable it and start a replay of the remaining time`,
  );
}

async function tooManyFailures({ db }: ReplayDeps, { failed_jobs: failed }: EventReplayProgress): Promise<Error> {
  const last = failed.at(-1) ?? '';
  const row = await db.selectFrom('jobs').select('error').where('id', '=', last).executeTakeFirst();
  return new TaskFailedError(
    `expected fewer than ${failedJobsMax} failed deliveries, got ${failed.length}; the last one: ${row?.error ?? 'removed'}. ` +
      'Fix the cause, retry the failed jobs of the config, and start a replay of the remaining time',
  );
}

/** Ends deliveries of a cancelled replay that have not begun. */
async function cancelPending({ db, clock }: ReplayDeps, progress: EventReplayProgress | undefined): Promise<void> {
  const ids = progress?.pending.map(({ job }) => job) ?? [];
  if (ids.length === 0) return;
  const finished_at = isoMicros(await clock.now());
  await moveJobs(db, 'cancel', { error: 'the replay was cancelled', finished_at }).where('id', 'in', ids).execute();
}

function resultOf({ total, delivered, failed, failed_jobs }: EventReplayProgress): EventReplayResult {
  return { total, delivered, failed, failed_jobs };
}

interface Pace {
  /** Whether the next page may be passed. */
  isDue(): boolean;
  passed(events: number): void;
  /** Events per second that were decided since this worker began. */
  average(progress: Pick<EventReplayProgress, 'delivered' | 'failed'>): number;
}

/** @param before events that earlier workers have decided */
function createPace(perSecond: number | undefined, before: number): Pace {
  const startedAt = performance.now();
  let dueAt = startedAt;
  return {
    isDue: () => performance.now() >= dueAt,
    passed: (events) => {
      if (perSecond !== undefined) dueAt = Math.max(dueAt, performance.now()) + (1000 * events) / perSecond;
    },
    average: ({ delivered, failed }) => {
      const seconds = Math.max(0.1, (performance.now() - startedAt) / 1000);
      return Math.round((10 * (delivered + failed - before)) / seconds) / 10;
    },
  };
}
