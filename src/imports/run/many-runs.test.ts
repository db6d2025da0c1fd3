import { CompiledQuery, type Kysely, type KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isoMicros } from '../../base/clock.ts';
import { dayMs, minuteMs } from '../../base/time.ts';
import type { Database, Metadata } from '../../stores/metadata/database.ts';
import { marksOf, placeOf, recipeOf, rememberLoad } from '../../stores/metadata/import-loads.ts';
import { hasStoreAlone } from '../../stores/metadata/queries.ts';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { kyselyOf, openPglite } from '../../../test/support/pglite.ts';
import { newRun, runOptions, start, type OpenRunsStore, type RunsStore } from '../../../test/support/runs.ts';
import { claimRun } from './claim-run.ts';
import { latestOpenRun, latestRun, latestRunFor, runsThatFailedLast } from './latest-runs.ts';
import { listRunsBefore, runsThatWait } from './list-runs.ts';
import { otherRuns, findLoadingRun } from './other-runs.ts';
import { createRun, listRuns } from './run-store.ts';
import { noTotals, type Run, type RunState } from './run.ts';
import { earlierRunsIn, type CheckedRun } from './same-records.ts';

const count = 1000;
const projectId = 1;
/** The config of the schedule, which has nearly all of the runs. */
const configId = 2;
const firstDay = Date.parse('2026-01-01T00:00:00Z');
const options = { ...runOptions, scheduled: true } as const;
const dayOf = (n: number): string => new Date(firstDay + Math.floor(n / 100) * dayMs).toISOString().slice(0, 10);
const idOf = (n: number): string => `0199${String(n).padStart(4, '0')}-0000-7000-8000-000000000000`;

/**
 * Each look-up finds its run by an index, however many runs came later: a thousand completed runs of a schedule are newer than
 * everything that matters.
 */
describe.each<readonly [string, OpenRunsStore]>([
  ['SQLite', openOnSqlite],
  ['PGlite', openOnPglite],
])('with a thousand later runs, on %s,', (_name, open) => {
  let store: RunsStore;
  let db: Metadata;
  let queries: CompiledQuery[] = [];
  beforeAll(async () => {
    store = await open();
    await fill(store.db);
    await addOldest(store.db);
    db = recording(store.db, (query) => queries.push(query));
  });
  afterAll(() => store[Symbol.asyncDispose]());

  /** Returns what a query finds, and expects an index for each of its queries. */
  async function indexed<T>(find: () => Promise<T>): Promise<T> {
    queries = [];
    const found = await find();
    const plans = await Promise.all(queries.map((query) => planOf(store.db, query)));
    expect(queries.length).toBeGreaterThan(0);
    expect(plans.flatMap((plan) => plan.filter((line) => /^SCAN (?!\(subquery|CONSTANT)|Seq Scan/.test(line)))).toEqual(
      [],
    );
    return found;
  }
  const of = { projectId, configId };

  it('an earlier run that made other events of the same records is found, also when it is removed', async () => {
    const checked: CheckedRun = {
      run: { id: 'now', projectId, options: { ...runOptions, names: { events: { order: 'Order' } } } },
      parts: [partOf('shared'), partOf('removed')],
      days: [],
    };
    const { sameRecords, undone, known } = earlierRunsIn(db);
    expect(await indexed(() => sameRecords(checked))).toMatchObject([
      { run: '0101-removed', records: 100, loaded: 7, removed: true },
      { run: '0100-completed', records: 100, loaded: 100 },
    ]);
    const ids = ['0101-removed', '0100-completed', 'nowhere'];
    expect([...(await indexed(() => undone(ids)))]).toEqual(['nowhere']);
    expect((await indexed(() => known(ids))).map(({ id }) => id)).toEqual(['0100-completed', '0101-removed']);
  });

  it('runs with events of the same days are found, and the one that is loading them', async () => {
    const run: Run = await createRun(store.db, newRun({ id: idOf(count), projectId, configId: 9 }));
    const { runs, moreNotStaged } = await indexed(() => otherRuns(db, run, new Set(['2020-05-05'])));
    expect(runs).toEqual([
      { id: '0101-removed', state: 'removed', days_in_common: null, what: 'not_staged' },
      { id: '0100-running', state: 'running', days_in_common: 1, what: 'at_work' },
      { id: '0100-completed', state: 'completed', days_in_common: 1, what: 'loads_again' },
    ]);
    expect(moreNotStaged).toBe(0);
    expect(await indexed(() => findLoadingRun(db, run, new Set(['2020-05-05'])))).toBe('0100-running');
    const whole = new Set(Array.from({ length: count }, (_, n) => dayOf(n)));
    expect((await otherRuns(db, run, whole)).runs).toHaveLength(count);
  });

  it('what failed last, what waits, and what a job would resume', async () => {
    expect((await indexed(() => runsThatFailedLast(db, projectId))).map(({ id }) => id)).toEqual(['0100-failed']);
    expect((await indexed(() => runsThatWait(db, projectId))).map(({ id }) => id)).toEqual(['0100-running']);
    expect((await indexed(() => latestOpenRun(db, of)))?.id).toBe('0100-paused');
    expect((await indexed(() => latestRunFor(db, of, 'resume')))?.id).toBe('0100-paused');
    expect((await indexed(() => latestRunFor(db, of, 'verify')))?.id).toBe(idOf(count - 1));
    expect((await indexed(() => latestRun(db, of)))?.id).toBe(idOf(count - 1));
    expect((await indexed(() => claimRun(db, start, 1000)))?.run.id).toBe('0100-queued');
  });

  it('lists continue page by page to the first run', async () => {
    const seen: string[] = [];
    for (let before: string | undefined; ;) {
      const page = await indexed(() => listRunsBefore(db, { projectId, configId }, { limit: 300, before }));
      seen.push(...page.map(({ id }) => id));
      before = page.at(-1)?.id;
      if (page.length < 300) break;
    }
    expect(seen).toHaveLength(count + 1);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.at(-1)).toBe('0100-paused');
    const failed = await indexed(() =>
      listRunsBefore(db, { projectId, states: ['failed'] }, { limit: 9, before: undefined }),
    );
    expect(failed.map(({ id }) => id)).toEqual(['0100-failed']);
    const { runs } = await indexed(() => listRuns(db, of, { limit: 1, offset: count }));
    expect(runs.map(({ id }) => id)).toEqual(['0100-paused']);
  });
});

const checkedPart = {
  seq: 1,
  key: 'a',
  stable: true,
  identity: undefined,
  checksum: undefined,
  complete: true,
} as const;
const partOf = (sha256: string) => {
  const segments = [{ records: 100, rawBytes: 1, bytes: 1, sha256 }];
  return { ...checkedPart, faults: 0, checked: 1, checkState: '', error: '', segments };
};

async function openOnSqlite(): Promise<RunsStore> {
  const store = await tempMetadata();
  return { db: store.db, other: store.db, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

async function openOnPglite(): Promise<RunsStore> {
  const db = kyselyOf(await openPglite());
  return { db, other: db, [Symbol.asyncDispose]: () => db.destroy() };
}

/** Inserts completed scheduled runs, each with its own part and day. */
async function fill(db: Metadata): Promise<void> {
  const [place, recipe] = [placeOf(options, undefined), recipeOf(options)];
  const totals = JSON.stringify({ ...noTotals, records: 100, events: 100, loaded: 100 });
  for (let from = 0; from < count; from += 100) {
    const numbers = Array.from({ length: 100 }, (_, n) => from + n);
    const created = numbers.map((n) => isoMicros(start + n * minuteMs));
    const ended = {
      state: 'completed',
      stage: 'report',
      reason: '',
      waiting: null,
      secrets: '{}',
      kept: 'long',
    } as const;
    const owner = { project_id: projectId, config_id: configId, source: 'files' } as const;
    const more = {
      progress: '{"load":{}}',
      totals,
      promoted_from: null,
      attempts: 1,
      retries: 0,
      lease_until: null,
    } as const;
    const row = {
      ...owner,
      ...ended,
      ...more,
      options: JSON.stringify(options),
      staging_removed_at: null,
      started_at: null,
    };
    const runs = numbers.map((n, at) => {
      const time = created[at] ?? '';
      return Object.assign({ id: idOf(n), created_at: time, finished_at: time }, row);
    });
    await db.insertInto('import_runs').values(runs).execute();
    await db
      .insertInto('import_days')
      .values(numbers.map((n) => dayRow(idOf(n), dayOf(n))))
      .execute();
    const load = { ...owner, target: 'project', place, recipe, duplicates: 0, loaded: null, removed_at: null } as const;
    const loads = numbers.map((n, at) =>
      Object.assign({ run_id: idOf(n), first_day: dayOf(n), last_day: dayOf(n), created_at: created[at] ?? '' }, load),
    );
    await db.insertInto('import_loads').values(loads).execute();
    const marks = numbers.map(
      (n) =>
        marksOf([partOf(`s${n}`)])
          .pieces.keys()
          .next().value ?? '',
    );
    await db
      .insertInto('import_load_marks')
      .values(marks.map((mark, at) => ({ project_id: projectId, mark, run_id: idOf(from + at), records: 100 })))
      .execute();
  }
}

function dayRow(run_id: string, day: string) {
  const counts = { events: 100, bytes: 1, duplicates: 0, frames: 1, frames_loaded: 1, accepted: 100, rejected: 0 };
  return { run_id, project_id: projectId, day, ...counts, verified: 1, expected: '{}' } as const;
}

/** Inserts one run for each look-up. */
async function addOldest(db: Metadata): Promise<void> {
  const waiting = JSON.stringify({ reason: 'the disk is full' });
  const totals = JSON.stringify({ ...noTotals, loaded: 100 });
  const add = async (state: RunState, config: number, more: object = {}): Promise<void> => {
    const id = `0100-${state}`;
    await createRun(db, newRun({ id, projectId, configId: config }));
    await db
      .updateTable('import_runs')
      .set({ state, ...more })
      .where('id', '=', id)
      .execute();
  };
  await add('failed', 3, { finished_at: isoMicros(start) });
  await add('paused', configId);
  await add('queued', 4);
  // Its lease must not be taken over.
  await add('running', 5, { waiting, progress: '{"load":{}}', lease_until: isoMicros(start + 1000) });
  await add('completed', 6, { totals, progress: '{"load":{}}', finished_at: isoMicros(start) });
  await createRun(db, newRun({ id: '0101-removed', projectId, configId: 7, now: start + 1 }));
  for (const [id, sha256] of [
    ['0100-running', 'other'],
    ['0100-completed', 'shared'],
    ['0101-removed', 'removed'],
  ] as const) {
    const part = { run_id: id, project_id: projectId, seq: 1, key: 'b', bytes: null, identity: null, checksum: null };
    const state = { stable: 1, detail: null, complete: 1, faults: 0, checked: 1, check_state: '', error: '' } as const;
    const segments = JSON.stringify(partOf(sha256).segments);
    await db
      .insertInto('import_parts')
      .values({ ...part, ...state, segments })
      .execute();
    await db.insertInto('import_days').values(dayRow(id, '2020-05-05')).execute();
    await rememberLoad(db, id);
  }
  // As removeOldRuns leaves it.
  for (const table of ['import_parts', 'import_days'] as const)
    await db.deleteFrom(table).where('run_id', '=', '0101-removed').execute();
  await db.deleteFrom('import_runs').where('id', '=', '0101-removed').execute();
  const removed = { loaded: 7, removed_at: isoMicros(start) };
  await db.updateTable('import_loads').set(removed).where('run_id', '=', '0101-removed').execute();
}

/** Returns the same store, with a callback for each query. */
function recording(db: Metadata, onQuery: (query: CompiledQuery) => void): Kysely<Database> {
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      if (node.kind === 'SelectQueryNode') onQuery(db.getExecutor().compileQuery(node, queryId));
      return node;
    },
    transformResult: async ({ result }) => result,
  };
  return db.withPlugin(plugin);
}

async function planOf(db: Metadata, { sql, parameters }: CompiledQuery): Promise<string[]> {
  const isSqlite = hasStoreAlone(db);
  const explain = isSqlite ? 'explain query plan' : 'explain';
  return db.transaction().execute(async (tx) => {
    // A sequential scan may be faster for a thousand rows; what counts here is whether an index exists.
    if (!isSqlite) await tx.executeQuery(CompiledQuery.raw('set local enable_seqscan = off'));
    const { rows } = await tx.executeQuery<Record<string, unknown>>(
      CompiledQuery.raw(`${explain} ${sql}`, [...parameters]),
    );
    return rows.map((row) => String(isSqlite ? row['detail'] : row['QUERY PLAN']));
  });
}
