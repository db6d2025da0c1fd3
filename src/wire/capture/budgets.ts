import type { Clock } from '../../base/clock.ts';

/** How fast a budget is filled again, and how much it holds. */
export interface BudgetSpeed {
  /** Events. */
  readonly perSecond: number;
  readonly capacity: number;
}

export type BudgetAnswer =
  | { readonly ok: true }
  | { readonly ok: false; readonly limit: 'total' }
  /** `missing`: events that are not in the bucket yet. */
  | { readonly ok: false; readonly limit: 'speed'; readonly missing: number };

/** How much history each project may bring now: a token bucket, and what it has brought in all. */
export interface Budgets {
  /** Takes events, or says what keeps them out. `totalMax`: in all. */
  take(projectId: number, events: number, speed: BudgetSpeed, totalMax: number): Promise<BudgetAnswer>;
  /** Events that were not brought after all. */
  giveBack(projectId: number, events: number): void;
}

export interface Budget {
  /** Events that may come now; below zero after a batch larger than the bucket. */
  tokens: number;
  perSecond: number;
  /** ms since the epoch. */
  filledAt: number;
  /** Historical events so far: stored when first asked, plus everything admitted since. */
  total: number;
}

/**
 * Takes from one budget, which it changes. A batch larger than the bucket is let in when the bucket is full and paid off
 * afterwards, so that no size of batch is refused for ever.
 */
export function takeFrom(
  budget: Budget,
  events: number,
  speed: BudgetSpeed,
  totalMax: number,
  now: number,
): BudgetAnswer {
  const { perSecond, capacity } = speed;
  // Another agreement begins with a full bucket.
  const isNew = budget.perSecond !== perSecond;
  const seconds = Math.max(0, now - budget.filledAt) / 1000;
  budget.tokens = isNew ? capacity : Math.min(capacity, budget.tokens + seconds * perSecond);
  budget.perSecond = perSecond;
  budget.filledAt = now;
  if (budget.total + events > totalMax) return { ok: false, limit: 'total' };
  const missing = Math.min(events, capacity) - budget.tokens;
  if (missing > 0) return { ok: false, limit: 'speed', missing };
  budget.tokens -= events;
  budget.total += events;
  return { ok: true };
}

export interface BudgetsDeps {
  /** Historical events of a project that are stored already. */
  readonly historicalTotal: (projectId: number) => Promise<number>;
  readonly clock: Clock;
}

/** Of one process that takes all of it. */
export function createBudgets({ historicalTotal, clock }: BudgetsDeps): Budgets {
  const budgets = new Map<number, Budget>();
  return {
    take: async (projectId, events, speed, totalMax) => {
      if (!budgets.has(projectId)) {
        const total = await historicalTotal(projectId);
        const made = { tokens: speed.capacity, perSecond: speed.perSecond, filledAt: clock.now(), total };
        // Another request may have made it meanwhile: its counts stand.
        if (!budgets.has(projectId)) budgets.set(projectId, made);
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
