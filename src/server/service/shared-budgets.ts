/**
 * How much history each project may bring, for all processes together: in the database, exactly, because a batch of history is
 * large and a query more or less makes no difference to it.
 */
import { hourMs } from '../../base/time.ts';
import { takeFrom, type Budgets } from '../../wire/capture/budgets.ts';
import { changeBudget, totalAge, writeTotal } from '../../stores/metadata/historical-budgets.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { WarnLog } from '../telemetry/log.ts';

/** What was undone or deleted meanwhile counts again after this. */
const totalMsMax = hourMs;

export interface SharedBudgetsDeps {
  readonly db: Metadata;
  readonly log: WarnLog;
  /** Historical events of a project that are stored already. */
  readonly total: (projectId: number) => Promise<number>;
}

export function createSharedBudgets({ db, log, total }: SharedBudgetsDeps): Budgets {
  const refreshTotal = async (projectId: number): Promise<void> => {
    const age = await totalAge(db, projectId);
    if (age !== undefined && age < totalMsMax) return;
    try {
      await writeTotal(db, projectId, await total(projectId));
    } catch (err) {
      // While the event store is away the count that is there goes on.
      if (age === undefined) throw err;
      log.warn({ err }, 'the history that a project has brought could not be counted anew; trying again');
    }
  };
  return {
    take: async (projectId, events, speed, totalMax) => {
      await refreshTotal(projectId);
      const answer = await changeBudget(db, projectId, (budget, now) => takeFrom(budget, events, speed, totalMax, now));
      if (answer === undefined)
        throw new Error(`expected a budget of project ${projectId}, got none; is it being deleted?`);
      return answer;
    },
    giveBack: (projectId, events) => {
      const back = changeBudget(db, projectId, (budget) => {
        budget.tokens += events;
        budget.total -= events;
      });
      back.catch((err: unknown) => log.warn({ err }, 'history that was not taken in counts against its agreement'));
    },
  };
}
