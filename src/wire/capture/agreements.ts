import { isFresh, type Clock } from '../../base/clock.ts';
import { ApiError } from '../contract/errors.ts';
import { freeEventsInAll, freeEventsPerMinute, type AgreementMode } from '../contract/historical-settings.ts';
import type { Budgets } from './budgets.ts';
import { unavailable } from './project-key.ts';
import { burstSeconds, type BucketSpeed } from './token-bucket.ts';

/** An approved historical migration. */
export interface ApprovedAgreement {
  readonly eventsPerSecond: number;
}

export interface AgreementsDeps {
  /** `optional` means that nothing is limited. */
  readonly mode: AgreementMode;
  /** The approved agreement of a project with the highest speed, if any. */
  readonly findApproved: (projectId: number) => Promise<ApprovedAgreement | undefined>;
  /** How much history each project may send now. */
  readonly budgets: Budgets;
  readonly clock: Clock;
}

export interface Agreements {
  /**
   * Admits historical events, or throws ApiError: 429 with Retry-After, or 503 when the agreement cannot be read.
   * Call the returned function to give the events back if they were not stored.
   */
  admit(projectId: number, events: number): Promise<() => void>;
}

/** A project exceeded the total or the speed permitted without an agreement. */
export class NoAgreementError extends ApiError {
  override name = 'NoAgreementError';
  readonly limit: 'total' | 'speed';

  constructor(limit: 'total' | 'speed', detail: string, retryAfterSeconds: number) {
    super('throttled', detail, retryAfter(retryAfterSeconds));
    this.limit = limit;
  }
}

/** An approval, or its end, takes effect within this time. */
const refreshMs = 5000;
/** Only an approval lifts the total, so clients should not retry every second. */
const totalRetrySeconds = 300;

interface Known {
  readonly agreement: ApprovedAgreement | undefined;
  /** ms since the epoch. */
  readonly readAt: number;
}

/** Enforces agreements for historical imports. */
export function createAgreements(deps: AgreementsDeps): Agreements {
  const known = new Map<number, Known>();
  const take = async (projectId: number, events: number) => {
    try {
      const { agreement } = await refreshed(deps, known, projectId);
      const totalMax = agreement === undefined ? freeEventsInAll : Infinity;
      const speed = speedOf(agreement);
      return { agreement, speed, answer: await deps.budgets.take(projectId, events, speed, totalMax) };
    } catch (cause) {
      throw unavailable('The agreement for historical imports could not be looked up; try again.', 5, cause);
    }
  };
  return {
    admit: async (projectId, events) => {
      if (deps.mode === 'optional') return () => {};
      const { agreement, speed, answer } = await take(projectId, events);
      if (answer.ok) return () => deps.budgets.giveBack(projectId, events);
      if (answer.limit === 'total') throw needsAgreement();
      throw tooFast(agreement, Math.max(1, Math.ceil(answer.missing / speed.perSecond)));
    },
  };
}

function speedOf(agreement: ApprovedAgreement | undefined): BucketSpeed {
  if (agreement === undefined) return { perSecond: freeEventsPerMinute / 60, capacity: freeEventsPerMinute };
  return { perSecond: agreement.eventsPerSecond, capacity: agreement.eventsPerSecond * burstSeconds };
}

async function refreshed(deps: AgreementsDeps, known: Map<number, Known>, projectId: number): Promise<Known> {
  const now = deps.clock.now();
  const before = known.get(projectId);
  if (before !== undefined && isFresh(before.readAt, refreshMs, now)) return before;
  const found = { agreement: await deps.findApproved(projectId), readAt: now };
  known.set(projectId, found);
  return found;
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
