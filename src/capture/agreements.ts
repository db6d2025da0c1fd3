import { isFresh, type Clock } from '../base/clock.ts';
import { ApiError } from '../contract/errors.ts';
import { freeEventsInAll, freeEventsPerMinute, type AgreementMode } from '../contract/historical-settings.ts';
import { unavailable } from './project-key.ts';

/** An approved historical migration. */
export interface ApprovedAgreement {
  readonly eventsPerSecond: number;
}

export interface AgreementsDeps {
  /** `optional`: no limit at all. */
  readonly mode: AgreementMode;
  /** The approved agreement of a project with the highest speed, if any. */
  readonly findApproved: (projectId: number) => Promise<ApprovedAgreement | undefined>;
  /** Historical events of a project that are stored already. */
  readonly historicalTotal: (projectId: number) => Promise<number>;
  readonly clock: Clock;
}

export interface Agreements {
  /**
   * Lets historical events in, or throws ApiError: 429 with Retry-After, 503 when the agreement cannot be looked up.
   * The result gives the events back, for when they were not taken after all.
   */
  admit(projectId: number, events: number): Promise<() => void>;
}

/** More than a project may send without an agreement, in all or at a time. */
export class NoAgreementError extends ApiError {
  override name = 'NoAgreementError';
  readonly limit: 'total' | 'speed';

  constructor(limit: 'total' | 'speed', detail: string, retryAfterSeconds: number) {
    super('throttled', detail, retryAfter(retryAfterSeconds));
    this.limit = limit;
  }
}

/** An approval, or its end, counts after this. */
const refreshMs = 5000;
/** Nothing but an approval helps against the total; a client should not ask every second. */
const totalRetrySeconds = 300;
/** Seconds of the agreed speed that may come at once. */
const burstSeconds = 10;

interface ProjectState {
  agreement: ApprovedAgreement | undefined;
  /** When the agreement was looked up last. */
  readAt: number;
  /** Historical events so far: stored when first asked, plus everything admitted since. */
  total: number;
  /** Events that may come now; below zero after a batch larger than the bucket. */
  tokens: number;
  filledAt: number;
}

/**
 * Holds historical imports to their agreement with a token bucket per project. A batch larger than the bucket is let in
 * when the bucket is full and paid off afterwards, so that no size of batch is refused for ever.
 */
export function createAgreements(deps: AgreementsDeps): Agreements {
  const projects = new Map<number, ProjectState>();
  return {
    admit: async (projectId, events) => {
      if (deps.mode === 'optional') return () => {};
      const state = await refreshed(deps, projects, projectId);
      if (state.agreement === undefined && state.total + events > freeEventsInAll) throw needsAgreement();
      const { perSecond, capacity } = speedOf(state.agreement);
      refill(state, perSecond, capacity, deps.clock.now());
      const missing = Math.min(events, capacity) - state.tokens;
      if (missing > 0) throw tooFast(state.agreement, Math.max(1, Math.ceil(missing / perSecond)));
      state.tokens -= events;
      state.total += events;
      return () => {
        state.tokens += events;
        state.total -= events;
      };
    },
  };
}

function speedOf(agreement: ApprovedAgreement | undefined): { perSecond: number; capacity: number } {
  if (agreement === undefined) return { perSecond: freeEventsPerMinute / 60, capacity: freeEventsPerMinute };
  return { perSecond: agreement.eventsPerSecond, capacity: agreement.eventsPerSecond * burstSeconds };
}

function refill(state: ProjectState, perSecond: number, capacity: number, now: number): void {
  const seconds = Math.max(0, now - state.filledAt) / 1000;
  state.tokens = Math.min(capacity, state.tokens + seconds * perSecond);
  state.filledAt = now;
}

async function refreshed(
  deps: AgreementsDeps,
  projects: Map<number, ProjectState>,
  projectId: number,
): Promise<ProjectState> {
  const now = deps.clock.now();
  const before = projects.get(projectId);
  if (before !== undefined && isFresh(before.readAt, refreshMs, now)) return before;
  try {
    const agreement = await deps.findApproved(projectId);
    const total = before?.total ?? (await deps.historicalTotal(projectId));
    return keep(projects, projectId, agreement, total, now);
  } catch (cause) {
    throw unavailable('The agreement for historical imports could not be looked up; try again.', 5, cause);
  }
}

function keep(
  projects: Map<number, ProjectState>,
  projectId: number,
  agreement: ApprovedAgreement | undefined,
  total: number,
  now: number,
): ProjectState {
  // Another request may have made the state while this one was looking up: its counts stand.
  const state = projects.get(projectId);
  if (state === undefined) {
    const { capacity } = speedOf(agreement);
    const made = { agreement, readAt: now, total, tokens: capacity, filledAt: now };
    projects.set(projectId, made);
    return made;
  }
  const sameSpeed = state.agreement?.eventsPerSecond === agreement?.eventsPerSecond;
  if (!sameSpeed) {
    state.tokens = speedOf(agreement).capacity;
    state.filledAt = now;
  }
  state.agreement = agreement;
  state.readAt = now;
  return state;
}

const howToFile =
  'file one with POST /api/projects/:project_id/historical_migrations/ and ask an operator to approve it';

function needsAgreement(): ApiError {
  const expected = `expected at most ${freeEventsInAll} historical events without an agreement`;
  return new NoAgreementError('total', `${expected}, got: more; ${howToFile}`, totalRetrySeconds);
}

function tooFast(agreement: ApprovedAgreement | undefined, seconds: number): ApiError {
  if (agreement === undefined) {
    const expected = `expected at most ${freeEventsPerMinute} historical events per minute without an agreement`;
    return new NoAgreementError('speed', `${expected}, got: more; send slower, or ${howToFile}`, seconds);
  }
  const expected = `expected at most the agreed ${agreement.eventsPerSecond} historical events per second`;
  return new ApiError('throttled', `${expected}, got: more; send slower`, retryAfter(seconds));
}

function retryAfter(seconds: number): { headers: Readonly<Record<string, string>> } {
  return { headers: { 'retry-after': String(seconds) } };
}
