/** Limits of historical events in a project: its agreement, and the disk of the stores. */
import { statfs } from 'node:fs/promises';
import { freeEventsInAll, freeEventsPerMinute } from '../../wire/contract/historical-settings.ts';
import { findApprovedAgreement } from '../../stores/metadata/find-approved-agreement.ts';
import type { Settings } from '../config/settings.ts';
import type { EventStore } from '../../stores/events/eventstore.ts';
import { historicalTotal } from '../../stores/events/reads.ts';
import type { AgreementFacts } from '../../imports/preflight/preflight-context.ts';
import { hasFiledAgreement } from '../../imports/targets/project-ingest.ts';
import type { Metadata } from '../../stores/metadata/database.ts';

export interface HistoricalLimitsDeps {
  readonly db: Metadata;
  readonly store: EventStore;
  readonly settings: Pick<Settings, 'historicalAgreement'>;
}

/** `undefined` if agreements are not required. */
export async function agreementFacts(
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

/** `undefined` if the event store is on another machine. */
export async function freeStoreBytes(
  settings: Pick<Settings, 'clickhouseUrl' | 'dataDir'>,
): Promise<number | undefined> {
  if (settings.clickhouseUrl !== '') return undefined;
  const { bavail, bsize } = await statfs(settings.dataDir);
  return bavail * bsize;
}
