import { randomUUID, createHash } from 'node:crypto';
import { sql } from 'kysely';
import { isoMicros, type Clock } from '../../base/clock.ts';
import type { Failpoint } from '../../base/failpoint.ts';
import { StoreUnavailableError, type EventStore, type StoreReader, type RowBatch } from '../events/eventstore.ts';
import type { Metadata } from '../metadata/database.ts';
import { migrate, schemaVersion } from '../metadata/migrate.ts';
import { hasStoreAlone } from '../metadata/queries.ts';
import { copyTables } from './copy-tables.ts';
import type { MoveProgress } from './move-progress.ts';
import { hasTable, unfinishedMove } from './unfinished-move.ts';
import type { MoveState, MoveStateKeeper, MonthPlace, MonthTotals } from './move-state.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { backoffMs } from '../../base/retry.ts';
import {
  projectsWithEvents,
  readMonthPage,
  summariseMonth,
  type MonthRef,
  type MonthRowKey,
} from '../events/month-rows.ts';
import { EventRowWriter } from '../events/rows.ts';
import { monthsOfProject } from '../events/run-rows.ts';

/**
 * Copies the stores of a machine or a cluster to those of a new cluster. Nothing but the progress is written to the old ones; the copy is
 * compared table by table and month by month. The move can be interrupted at any moment and restarted.
 */
export interface MoveDeps {
  /** Stores that no other process uses and whose log has no waiting events. */
  readonly from: {
    readonly db: Metadata;
    readonly store: StoreReader;
    readonly state: MoveStateKeeper;
    /** Called after everything was copied. @throws MoveRefusedError if the stores were used in the meantime */
    readonly checkUnused?: () => Promise<void>;
  };
  /** Empty, or with what this move has already copied. */
  readonly to: {
    readonly db: Metadata;
    readonly store: EventStore;
    /** Slots of its event log. */
    readonly slots: number;
    /** @throws MoveRefusedError unless its event log is new */
    readonly checkLog?: () => Promise<void>;
    /** Identifies these stores for users, without passwords. */
    readonly name: string;
  };
  readonly clock: Clock;
  readonly failpoint: Failpoint;
  readonly progress: MoveProgress;
  /** Maximum of event rows per page. Default 40,000. */
  readonly pageRows?: number;
}

export interface MoveReport {
  readonly id: string;
  readonly started_at: string;
  readonly tables: MoveState['tables'];
  readonly months: MoveState['months'];
  readonly rows: number;
  readonly events: number;
}

const pageRowsDefault = 40_000;

/** The move cannot start; nothing was changed. The message states what to do. */
export class MoveRefusedError extends Error {
  override name = 'MoveRefusedError';
}

/** @throws MoveRefusedError, TableDiffersError, MonthDiffersError, and errors of the stores */
export async function move(deps: MoveDeps): Promise<MoveReport> {
  const { from, to, failpoint, progress } = deps;
  const known = await from.state.read();
  if (known !== undefined && known.target !== to.name) throw otherTarget(known.target, deps);
  if (known?.stage === 'done') {
    await releaseTarget(to.db);
    return reportOf(known);
  }
  await checkSource(from.db);
  await checkSlots(from.db, to.slots);
  const state = known ?? newState(deps);
  const isClaimed = await checkTarget(deps, state);
  const save = (): Promise<void> => from.state.write(state);
  await save();
  failpoint('move_begun');
  if (!isClaimed) await claimTarget(to.db, state.id);
  failpoint('move_claimed');
  await migrate(to.db, 'postgres');
  failpoint('move_migrated');
  const done = async (table: string, totals: MoveState['tables'][string]): Promise<void> => {
    state.tables[table] = totals;
    await save();
  };
  await copyTables({ from: from.db, to: to.db, failpoint, progress, done }, state.tables);
  await copyEvents(
    {
      from: from.store,
      to: to.store,
      id: state.id,
      failpoint,
      progress,
      pageRows: deps.pageRows ?? pageRowsDefault,
      at: async (place) => {
        state.current = place;
        await save();
      },
      done: async (month, totals) => {
        state.months[month] = totals;
        state.current = null;
        await save();
      },
    },
    state,
  );
  await from.checkUnused?.();
  state.stage = 'done';
  await save();
  failpoint('move_done');
  await releaseTarget(to.db);
  return reportOf(state);
}

function newState({ clock, to }: MoveDeps): MoveState {
  return {
    id: randomUUID(),
    started_at: isoMicros(clock.now()),
    target: to.name,
    stage: 'copying',
    tables: {},
    months: {},
    current: null,
  };
}

/** @throws MoveRefusedError */
export async function checkSource(db: Metadata): Promise<void> {
  if (!hasStoreAlone(db) && !(await hasTable(db, 'schema_version'))) {
    throw new MoveRefusedError(
      'expected the database of the stores to move at DATABASE_URL, got one that no Millrace has used; the stores to move to are named ' +
        'with --to',
    );
  }
  const query = sql<{ version: number }>`select max(version) as version from schema_version`;
  const version = (await query.execute(db)).rows[0]?.version ?? 0;
  if (version !== schemaVersion) {
    throw new MoveRefusedError(
      `expected a metadata store with schema ${schemaVersion}, got ${version}; start and stop this version of Millrace on it ` +
        'once, which migrates it',
    );
  }
  const runs = await db
    .selectFrom('import_runs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('state', 'in', ['queued', 'running', 'paused'])
    .executeTakeFirstOrThrow();
  if (Number(runs.count) > 0) {
    throw new MoveRefusedError(
      `expected no import run in progress, got ${runs.count}: their staged data is not moved; start the service again and let ` +
        'them finish, or cancel them',
    );
  }
}

/** The parts of a spread project are in different slots. @throws MoveRefusedError */
async function checkSlots(db: Metadata, slots: number): Promise<void> {
  const widest = await db
    .selectFrom('projects')
    .select(['id', 'spread'])
    .where('spread', '>', slots)
    .orderBy('spread', 'desc')
    .executeTakeFirst();
  if (widest === undefined) return;
  throw new MoveRefusedError(
    `expected at least ${widest.spread} slots in --to, over which the project ${widest.id} is spread, got ${slots}; set more slots, or ` +
      'spread the project over fewer before you stop the old service',
  );
}

function otherTarget(begun: string, { from, to }: MoveDeps): MoveRefusedError {
  return new MoveRefusedError(
    `expected the stores that the move was started with (${begun}), got others (${to.name}); name those again, or ` +
      `${from.state.remedy} to start over with empty ones`,
  );
}

/** Returns whether this move has started to fill the stores. Nothing else is ever overwritten. */
async function checkTarget({ to }: MoveDeps, state: MoveState): Promise<boolean> {
  await to.checkLog?.();
  const found = await unfinishedMove(to.db);
  if (found === state.id) return true;
  const advice = 'give the move a separate database';
  if (found !== undefined) {
    throw new MoveRefusedError(`expected an empty database, got one that another move has started to fill; ${advice}`);
  }
  const hasCopied = Object.keys(state.tables).length + Object.keys(state.months).length > 0;
  if (hasCopied || (await hasTable(to.db, 'schema_version'))) {
    const got = hasCopied ? 'one without what was already copied' : 'one that a Millrace has used';
    throw new MoveRefusedError(
      `expected ${hasCopied ? 'the database of this move' : 'an empty database'}, got ${got}; ${advice}`,
    );
  }
  const [row] = await to.store.query<{ events: string }>('SELECT count() AS events FROM events');
  if (row?.events !== '0') {
    throw new MoveRefusedError(
      `expected an empty event store, got one with ${row?.events} rows; give the move a separate database there, too`,
    );
  }
  return false;
}

/** Writes the id of the move to the target, so that no service starts there too early. */
async function claimTarget(db: Metadata, id: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`create table move_from (id text not null)`.execute(tx);
    await sql`insert into move_from (id) values (${id})`.execute(tx);
  });
}

async function releaseTarget(db: Metadata): Promise<void> {
  await sql`drop table if exists move_from`.execute(db);
}

function reportOf({ id, started_at, tables, months }: MoveState): MoveReport {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  return {
    id,
    started_at,
    tables,
    months,
    rows: sum(Object.values(tables).map((table) => table.rows)),
    events: sum(Object.values(months).map((month) => month.events)),
  };
}

interface CopyEventsDeps {
  readonly from: StoreReader;
  readonly to: EventStore;
  /** Id of the move, for tokens. */
  readonly id: string;
  readonly failpoint: Failpoint;
  readonly progress: MoveProgress;
  /** Maximum of rows per page. */
  readonly pageRows: number;
  /** Records the position in a month. */
  readonly at: (place: MonthPlace) => Promise<void>;
  /** Whether an earlier attempt, interrupted after what it recorded last, may have inserted the next rows. */
  readonly mayBeThere: () => boolean;
  /** Records that a month is copied and compared. */
  readonly done: (month: string, totals: MonthTotals) => Promise<void>;
}

/** What was already copied. */
interface CopiedEvents {
  readonly months: Readonly<Record<string, MonthTotals>>;
  readonly current: MonthPlace | null;
}

/** Events of a month differ between the two stores, though all of them were copied. */
class MonthDiffersError extends Error {
  override name = 'MonthDiffersError';
}

const pageBytes = 32 * 1024 * 1024;
const triesMax = 8;

/** Copies every stored row, month by month. Rows are inserted under tokens, so that repeated ones are dropped. */
async function copyEvents(given: Omit<CopyEventsDeps, 'mayBeThere'>, known: CopiedEvents): Promise<void> {
  let hasRecorded = false;
  const deps: CopyEventsDeps = {
    ...given,
    mayBeThere: () => !hasRecorded,
    at: async (place) => {
      await given.at(place);
      hasRecorded = true;
    },
    done: async (month, totals) => {
      await given.done(month, totals);
      hasRecorded = true;
    },
  };
  for (const projectId of await projectsWithEvents(deps.from)) {
    for (const month of await monthsOfProject(deps.from, projectId)) {
      const name = `${projectId}/${month}`;
      if (known.months[name] !== undefined) continue;
      deps.progress.month(projectId, month);
      const place = known.current?.month === name ? known.current : undefined;
      await deps.done(name, await copyMonth(deps, { projectId, month }, place));
      deps.failpoint('move_month');
    }
  }
}

async function copyMonth(deps: CopyEventsDeps, of: MonthRef, place: MonthPlace | undefined): Promise<MonthTotals> {
  const wanted = await summariseMonth(deps.from, of);
  const limit = Math.max(1, Math.min(deps.pageRows, Math.floor(pageBytes / (wanted.meanBytes + 200))));
  const isShown = async (): Promise<boolean> => {
    const { events, checksum } = await summariseMonth(deps.to, of);
    return events === wanted.events && checksum === wanted.checksum;
  };
  const isEqual = async (): Promise<boolean> => {
    if (await isShown()) return true;
    await deps.to.waitForReplicas();
    return await isShown();
  };
  if (place?.which !== 'shown') {
    await copyRows(deps, of, { which: 'stored', after: place?.after, limit });
    if (await isEqual()) return { events: wanted.events, checksum: wanted.checksum };
  }
  // Among rows with the same identity and time of receipt, reads return the one inserted last, so the ones to return are inserted again.
  await copyRows(deps, of, { which: 'shown', after: place?.which === 'shown' ? place.after : undefined, limit });
  if (await isEqual()) return { events: wanted.events, checksum: wanted.checksum };
  const found = await summariseMonth(deps.to, of);
  throw new MonthDiffersError(
    `expected ${wanted.events} events of project ${of.projectId} in ${of.month} with checksum ${wanted.checksum}, got ` +
      `${found.events} with ${found.checksum}: the target has other events, or the old stores were used in the meantime`,
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
        // The response would exceed its size limit.
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
    await insert(deps, batch, tokenOf(deps.id, of, { which, after, limit }));
    writer.recycle(batch);
    deps.failpoint('move_piece');
    deps.progress.events(page.rows.length);
    if (page.last === undefined || page.rows.length < limit) return;
    after = page.last;
    await deps.at({ month: `${of.projectId}/${of.month}`, which, after });
  }
}

/** Returns the token of the rows after a given row, up to the limit: the same rows always have the same token. */
function tokenOf(id: string, { projectId, month }: MonthRef, { which, after, limit }: Copying): string {
  const place = after === undefined ? 'first' : createHash('sha256').update(JSON.stringify(after)).digest('hex');
  return `move:${id}:${projectId}:${month}:${which}:${limit}:${place}`;
}

/** Inserts rows, waiting for an unavailable store for a limited time. */
async function insert({ to, mayBeThere }: CopyEventsDeps, batch: RowBatch, token: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await to.insertBatch(batch, token, mayBeThere());
      return;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError) || tries === triesMax) throw error;
      await sleep(backoffMs(tries, 200, 20_000));
    }
  }
}
