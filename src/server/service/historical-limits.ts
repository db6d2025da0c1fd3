/** Limits of historical events in a project: its agreement, and the disk of the stores. */
import { statfs } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import { takeFrom, type Budgets } from '../../wire/capture/budgets.ts';
import { freeEventsInAll, freeEventsPerMinute } from '../../wire/contract/historical-settings.ts';
import { changeBudget, totalAge, writeTotal } from '../../stores/metadata/historical-budgets.ts';
import { findApprovedAgreement } from '../../stores/metadata/find-approved-agreement.ts';
import type { Settings } from '../config/settings.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { historicalTotal } from '../../stores/events/reads.ts';
import type { AgreementFacts } from '../../imports/preflight/preflight-context.ts';
import { expiredBeforeIn } from '../../imports/run/expired-before.ts';
import { hasFiledAgreement } from '../../imports/targets/project-ingest.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { WarnLog } from '../telemetry/log.ts';

export interface HistoricalLimitsDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly settings: Pick<Settings, 'historicalAgreement'>;
}

/** `undefined` if agreements are not required. */
async function agreementFacts(
  { db, store, settings }: HistoricalLimitsDeps,
  projectId: number,
): Promise<AgreementFacts | undefined> {
  if (settings.historicalAgreement === 'optional') return undefined;
  const [approved, isFiled, total] = await Promise.all([
    findApprovedAgreement(db, projectId),
    hasFiledAgreement(db, projectId),
    historicalTotal(store, projectId),
  ]);
  return {
    approvedEventsPerSecond: approved?.eventsPerSecond,
    isFiled,
    freeEventsPerSecond: freeEventsPerMinute / 60,
    freeEventsLeft: Math.max(0, freeEventsInAll - total),
  };
}

interface ProjectLimitsDeps extends HistoricalLimitsDeps {
  readonly clock: Clock;
}

/** Limits of a project of this service, for imports into it. */
export function projectLimits(deps: ProjectLimitsDeps, projectId: number) {
  return {
    agreement: () => agreementFacts(deps, projectId),
    expiredBefore: () => expiredBeforeIn(deps.db, projectId, deps.clock.now()),
  };
}

/** `undefined` if the event store is on another machine. */
export async function freeStoreBytes(
  settings: Pick<Settings, 'clickhouseUrl' | 'dataDir'>,
): Promise<number | undefined> {
  if (settings.clickhouseUrl !== '') return undefined;
  const { bavail, bsize } = await statfs(settings.dataDir);
  return bavail * bsize;
}

/** Age at which totals are counted again: until then, undone or deleted events still count. */
const totalMsMax = hourMs;

interface SharedBudgetsDeps {
  readonly db: Metadata;
  readonly log: WarnLog;
  /** Counts the stored historical events of a project. */
  readonly total: (projectId: number) => Promise<number>;
}

/**
 * Creates budgets of historical events per project across processes: exact counts in the database, because a historical batch is large
 * and an additional query makes no difference.
 */
export function createSharedBudgets({ db, log, total }: SharedBudgetsDeps): Budgets {
  const refreshTotal = async (projectId: number): Promise<void> => {
    const age = await totalAge(db, projectId);
    if (age !== undefined && age < totalMsMax) return;
    try {
      await writeTotal(db, projectId, await total(projectId));
    } catch (err) {
      // While the event store is unavailable, the last count is used.
      if (age === undefined) throw err;
      log.warn({ err }, 'failed to count historical events of a project; retrying');
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
      back.catch((err: unknown) =>
        log.warn({ err }, 'failed to return historical budget; rejected events count against the agreement'),
      );
    },
  };
}
