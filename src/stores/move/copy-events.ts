import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Failpoint } from '../../base/failpoint.ts';
import { backoffMs } from '../../base/retry.ts';
import { StoreUnavailableError, type EventStore, type RowBatch, type StoreReader } from '../events/eventstore.ts';
import {
  projectsWithEvents,
  readMonthPage,
  summariseMonth,
  type MonthRef,
  type MonthRowKey,
} from '../events/month-rows.ts';
import { EventRowWriter } from '../events/rows.ts';
import { monthsOfProject } from '../events/run-rows.ts';
import type { MoveProgress } from './move-progress.ts';
import type { MonthPlace, MonthTotals } from './move-state.ts';

export interface CopyEventsDeps {
  readonly from: StoreReader;
  readonly to: EventStore;
  /** Id of the move, for tokens. */
  readonly id: string;
  readonly failpoint: Failpoint;
  readonly progress: MoveProgress;
  /** Rows copied at once, at most. */
  readonly pageRows: number;
  /** Puts on record how far a month has come. */
  readonly at: (place: MonthPlace) => void;
  /** Puts on record that a month is copied and compared. */
  readonly done: (month: string, totals: MonthTotals) => void;
}

/** What was done before. */
export interface CopiedEvents {
  readonly months: Readonly<Record<string, MonthTotals>>;
  readonly current: MonthPlace | null;
}

/** Events of a month differ between the two stores, though all of them were copied. */
export class MonthDiffersError extends Error {
  override name = 'MonthDiffersError';
}

const pageBytes = 32 * 1024 * 1024;
const triesMax = 8;

/** Every stored row, month by month. Rows are inserted under tokens, so that one that is copied again is dropped. */
export async function copyEvents(deps: CopyEventsDeps, known: CopiedEvents): Promise<void> {
  for (const projectId of await projectsWithEvents(deps.from)) {
    for (const month of await monthsOfProject(deps.from, projectId)) {
      const name = `${projectId}/${month}`;
      if (known.months[name] !== undefined) continue;
      deps.progress.month(projectId, month);
      const place = known.current?.month === name ? known.current : undefined;
      deps.done(name, await copyMonth(deps, { projectId, month }, place));
      deps.failpoint('move_month');
    }
  }
}

async function copyMonth(deps: CopyEventsDeps, of: MonthRef, place: MonthPlace | undefined): Promise<MonthTotals> {
  const wanted = await summariseMonth(deps.from, of);
  const limit = Math.max(1, Math.min(deps.pageRows, Math.floor(pageBytes / (wanted.meanBytes + 200))));
  const isEqual = async (): Promise<boolean> => {
    const { events, checksum } = await summariseMonth(deps.to, of);
    return events === wanted.events && checksum === wanted.checksum;
  };
  if (place?.which !== 'shown') {
    await copyRows(deps, of, { which: 'stored', after: place?.after, limit });
    if (await isEqual()) return { events: wanted.events, checksum: wanted.checksum };
  }
  // Of rows of one identity that were received at the same moment the one inserted last is shown: those that should be, again.
  await copyRows(deps, of, { which: 'shown', after: place?.which === 'shown' ? place.after : undefined, limit });
  if (await isEqual()) return { events: wanted.events, checksum: wanted.checksum };
  const found = await summariseMonth(deps.to, of);
  throw new MonthDiffersError(
    `expected ${wanted.events} events of project ${of.projectId} in ${of.month} with checksum ${wanted.checksum}, got ` +
      `${found.events} with ${found.checksum}: the target has events of others, or the data directory was used meanwhile`,
  );
}

interface Copying {
  readonly which: MonthPlace['which'];
  readonly after: MonthRowKey | undefined;
  readonly limit: number;
}

async function copyRows(deps: CopyEventsDeps, of: MonthRef, copying: Copying): Promise<void> {
  const { which } = copying;
  const writer = new EventRowWriter();
  let { after, limit } = copying;
  for (;;) {
    const page = await readMonthPage(deps.from, of, { shown: which === 'shown', after, limit }).catch(
      (error: unknown) => {
        // More bytes than an answer may have.
        if (!(error instanceof StoreUnavailableError) || limit === 1) throw error;
        return undefined;
      },
    );
    if (page === undefined) {
      limit = Math.max(1, Math.floor(limit / 4));
      continue;
    }
    for (const row of page.rows) writer.write(row);
    const batch = writer.take();
    await insert(deps.to, batch, tokenOf(deps.id, of, { which, after, limit }));
    writer.recycle(batch);
    deps.failpoint('move_piece');
    deps.progress.events(page.rows.length);
    if (page.last === undefined || page.rows.length < limit) return;
    after = page.last;
    deps.at({ month: `${of.projectId}/${of.month}`, which, after });
  }
}

/** The same rows always have the same one: those behind a row, as many as the limit. */
function tokenOf(id: string, { projectId, month }: MonthRef, { which, after, limit }: Copying): string {
  const place = after === undefined ? 'first' : createHash('sha256').update(JSON.stringify(after)).digest('hex');
  return `move:${id}:${projectId}:${month}:${which}:${limit}:${place}`;
}

/** Waits a while for a store that is away. */
async function insert(to: EventStore, batch: RowBatch, token: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await to.insertBatch(batch, token);
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || tries === triesMax) throw error;
      await sleep(backoffMs(tries, 200, 20_000));
    }
  }
}
