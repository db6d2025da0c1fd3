import type { Clock } from '../../base/clock.ts';
import { missingIn, refill, type BucketSpeed, type TokenBucket } from './token-bucket.ts';

export type BudgetAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly limit: 'total' }
  /** `missing` is the number of events that the bucket lacks. */
  | { readonly ok: false; readonly limit: 'speed'; readonly missing: number };

/** How much history each project may send now: a token bucket and a total. */
export interface Budgets {
  /** Takes events, or returns the limit that prevents it. `totalMax` limits the project's total. */
  take(projectId: number, events: number, speed: BucketSpeed, totalMax: number): Promise<BudgetAnswer>;
  /** Gives back events that were not stored. */
  giveBack(projectId: number, events: number): void;
}

/** Tokens are events, `filledAt` is ms since the epoch. */
export interface Budget extends TokenBucket {
  perSecond: number;
  /** Historical events stored at the first request, plus everything admitted since. */
  total: number;
}

/** Takes events from a budget, which it mutates. */
export function takeFrom(
  budget: Budget,
  events: number,
  speed: BucketSpeed,
  totalMax: number,
  now: number,
): BudgetAnswer {
  refill(budget, speed, now);
  // A new agreement starts with a full bucket.
  if (budget.perSecond !== speed.perSecond) budget.tokens = speed.capacity;
  budget.perSecond = speed.perSecond;
  if (budget.total + events > totalMax) return { ok: false, limit: 'total' };
  const missing = missingIn(budget, speed, events);
  if (missing > 0) return { ok: false, limit: 'speed', missing };
  budget.tokens -= events;
  budget.total += events;
  return { ok: true };
}

export interface BudgetsDeps {
  /** Number of a project's stored historical events. */
  readonly historicalTotal: (projectId: number) => Promise<number>;
  readonly clock: Clock;
}

/** Creates budgets in memory, for a single process that receives all history. */
export function createBudgets({ historicalTotal, clock }: BudgetsDeps): Budgets {
  const budgets = new Map<number, Budget>();
  return {
    take: async (projectId, events, speed, totalMax) => {
      if (!budgets.has(projectId)) {
        const total = await historicalTotal(projectId);
        const created = { tokens: speed.capacity, perSecond: speed.perSecond, filledAt: clock.now(), total };
        // A concurrent request may have created it; its counts are kept.
        if (!budgets.has(projectId)) budgets.set(projectId, created);
      }
      const budget = budgets.get(projectId);
      if (budget === undefined) throw new Error(`expected a budget of project ${projectId}, got none`);
      return takeFrom(budget, events, speed, totalMax, clock.now());
    },
    giveBack: (projectId, events) => {
      const budget = budgets.get(projectId);
      if (budget === undefined) return;
      budget.tokens += events;
      budget.total -= events;
    },
  };
}
