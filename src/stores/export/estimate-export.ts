import { isoMicros } from '../../base/clock.ts';
import type { EventSelection } from '../../wire/contract/event-selection.ts';
import type { ExportEstimate, ExportTableName } from '../../wire/contract/exports.ts';
import { isoOfMicros } from '../events/micros.ts';
import type { StoreReader } from '../events/eventstore.ts';
import type { Metadata } from '../metadata/database.ts';
import { countExported } from './event-pages.ts';
import { exportedEvents, idsOf, unfinishedRuns } from './take-snapshot.ts';

interface EstimateDeps {
  readonly db: Metadata;
  readonly store: StoreReader;
  /** ms since the epoch. */
  readonly now: number;
}

interface EstimateOf {
  readonly projectId: number;
  readonly tables: readonly ExportTableName[];
  readonly selection: EventSelection;
}

/** Counts what an export that starts now would contain. */
export async function estimateExport({ db, store, now }: EstimateDeps, of: EstimateOf): Promise<ExportEstimate> {
  const { projectId, tables, selection } = of;
  const unfinished_runs = await unfinishedRuns(db, projectId);
  const distinct_ids = await idsOf(db, projectId, selection);
  const snapshot = { received_before: isoMicros(now), unfinished_runs, ...(distinct_ids && { distinct_ids }) };
  const isWanted = tables.includes('events');
  const counted = isWanted
    ? await countExported(store, exportedEvents({ projectId, selection, snapshot }))
    : { events: 0, bytes: 0, first: 0n, last: 0n };
  const count = async (table: 'persons' | 'groups'): Promise<number | null> => {
    if (!tables.includes(table)) return null;
    const query = db.selectFrom(table).select((eb) => eb.fn.countAll<number>().as('count'));
    return Number((await query.where('project_id', '=', projectId).executeTakeFirstOrThrow()).count);
  };
  return {
    events: counted.events,
    bytes: counted.bytes,
    from: counted.events === 0 ? null : isoOfMicros(counted.first),
    to: counted.events === 0 ? null : isoOfMicros(counted.last),
    persons: await count('persons'),
    groups: await count('groups'),
    unfinished_runs,
  };
}
