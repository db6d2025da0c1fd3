import type { Settings } from '../../server/config/settings.ts';
import type { Metrics } from '../../server/telemetry/metrics.ts';
import type { EventLogWriter, Lane } from '../../log/eventlog.ts';
import type { AcceptedBatch } from '../batch/ingest.ts';
import { ApiError } from '../contract/errors.ts';
import type { ProjectLimitName } from '../contract/project-limits.ts';
import { unavailable } from './project-key.ts';
import type { ProjectLimits } from './project-limits.ts';

type Sent = Pick<AcceptedBatch, 'lane' | 'projectId' | 'events'>;

/** A batch that was refused because of its project, not of the service as a whole. */
export interface LimitedBatch {
  readonly projectId: number;
  readonly lane: Lane;
  readonly limit: ProjectLimitName;
  readonly events: number;
}

export interface RefuseBatchDeps {
  readonly log: Pick<EventLogWriter, 'backlog' | 'backlogOf'>;
  readonly settings: Pick<Settings, 'backlogEventsMax' | 'backlogBytesMax'>;
  readonly metrics: Metrics;
  /** Omit it if no project has limits. */
  readonly limits?: ProjectLimits;
  /** Called for each batch that is refused because of its project. */
  readonly onLimited?: (batch: LimitedBatch) => void;
}

export const retryAfterSeconds = 5;

/** A project's backlog may be this many times the free space: four fifths of a lane for one project, four fifths of the rest for the next. */
const timesFree = 4;

/**
 * Throws ApiError if a batch is not accepted now: 503 while the lane is full, or the project has too much in it, which clients wait for;
 * 429 while the project sends faster than it may. Otherwise counts the batch.
 */
export function refuseOverLimits(deps: RefuseBatchDeps, batch: Sent, bytes: number): void {
  const waiting = deps.log.backlog(batch.lane);
  const freeEvents = deps.settings.backlogEventsMax - waiting.events;
  const freeBytes = deps.settings.backlogBytesMax - waiting.bytes;
  if (freeEvents <= 0 || freeBytes <= 0) {
    throw full(
      deps,
      `The ${batch.lane} lane is full: ${waiting.events} events are waiting to be stored; try again later.`,
    );
  }
  const own = deps.log.backlogOf(batch.lane, batch.projectId, deps.limits?.meters.processes);
  const max = deps.limits?.limitsOf(batch.projectId).backlog_bytes ?? 0;
  if (max > 0 && own.bytes >= max) {
    note(deps, batch, 'backlog_bytes');
    throw full(
      deps,
      `The project's limit of ${max} waiting bytes in the ${batch.lane} lane is reached: ${own.bytes} are waiting to be stored; try again later.`,
    );
  }
  if (own.events >= timesFree * freeEvents || own.bytes >= timesFree * freeBytes) {
    note(deps, batch, 'backlog_bytes');
    throw full(
      deps,
      `The project's share of the ${batch.lane} lane is full: ${own.events} of its events are waiting to be stored; try again later.`,
    );
  }
  const refusal = deps.limits?.take(batch, bytes);
  if (refusal === undefined) return;
  note(deps, batch, refusal.limit);
  const what = refusal.limit === 'events_per_second' ? 'events' : 'body bytes';
  const detail = `expected at most ${refusal.value} ${what} per second in the ${batch.lane} lane, the limit of the project, got: more; send slower, or ask an admin to raise the limit`;
  throw new ApiError('throttled', detail, { headers: { 'retry-after': String(refusal.retryAfterSeconds) } });
}

function full({ metrics }: RefuseBatchDeps, detail: string): ApiError {
  metrics.count('millrace_component_errors_total', { component: 'capture', error_type: 'backlog_full' });
  return unavailable(detail, retryAfterSeconds);
}

function note({ metrics, onLimited }: RefuseBatchDeps, batch: Sent, limit: ProjectLimitName): void {
  const { lane, projectId, events } = batch;
  metrics.count('millrace_limited_requests_total', { lane, limit });
  metrics.count('millrace_limited_events_total', { lane, limit }, events);
  onLimited?.({ projectId, lane, limit, events });
}
