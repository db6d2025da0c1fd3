import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { savePolicy } from '../../../stores/metadata/retention-policies.ts';
import { isoMicros } from '../../../base/clock.ts';
import type { EventStore } from '../../../stores/events/eventstore.ts';
import { countRunRows } from '../../../stores/events/run-rows.ts';
import { EventRowWriter } from '../../../stores/events/rows.ts';
import { rememberLoad, rememberReportedLoad } from '../../../stores/metadata/import-loads.ts';
import { createProject } from '../../../stores/metadata/projects.ts';
import { createLog, type Log } from '../../../server/telemetry/log.ts';
import { tempChdb, type TempChdb } from '../../../../test/support/chdb.ts';
import { createRecordingStore } from '../../../../test/support/event-store-double.ts';
import { createBench, receivedAt, type Bench } from '../../../../test/support/pipeline.ts';
import { projectState, type ProjectState } from '../../../../test/support/project-state.ts';
import { newRun } from '../../../../test/support/runs.ts';
import { madeEvents, ofRun, type MadeEvent } from '../../../../test/support/undo-history.ts';
import type { UndoResult } from '../../run/results.ts';
import { shareDone } from '../../run/eta.ts';
import { createRun, getRun } from '../../run/run-store.ts';
import { undoRun } from '../../run/run-transitions.ts';
import { startRunWorker } from '../../run/run-worker.ts';
import { noTotals, type Run, type StageProgress } from '../../run/run.ts';
import { openStaging } from '../../staging/open-staging.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { planUndo } from './plan-undo.ts';
import { isAwaitedByUndo } from './undo-detail.ts';
import { createUndoStage } from './undo-stage.ts';

let chdb: TempChdb;
let bench: Bench;
let dir: string;
let staging: Staging;
let sent: number;
beforeEach(async () => {
  sent = 0;
  chdb = await tempChdb();
  dir = await mkdtemp(join(tmpdir(), 'millrace-undo-'));
  staging = await openStaging(dir);
  bench = await createBench({ recording: { ...createRecordingStore(), store: chdb.store } });
});
afterEach(async () => {
  await bench[Symbol.asyncDispose]();
  await chdb.close();
  await rm(dir, { recursive: true, force: true });
});

const eventsPerBody = 20;

async function send(lane: 'live' | 'historical', projectId: number, events: readonly MadeEvent[]): Promise<void> {
  for (let from = 0; from < events.length; from += eventsPerBody) {
    const batch = events.slice(from, from + eventsPerBody);
    sent += 1;
    await bench.append(lane, { batch }, { projectId, events: batch.length, receivedAt: receivedAt + sent });
  }
  await bench.drain();
}

async function addProject(): Promise<number> {
  const { organization_id } = await bench.db.selectFrom('projects').select('organization_id').executeTakeFirstOrThrow();
  return (await createProject(bench.db, { organizationId: organization_id, name: 'other' }, receivedAt)).id;
}

/** Creates a run that has ended, as far as undo is concerned. */
async function endedRun(projectId: number, id: string): Promise<Run> {
  const run = await createRun(bench.db, newRun({ id, projectId }));
  await bench.db.updateTable('import_runs').set({ state: 'completed', stage: 'report' }).where('id', '=', id).execute();
  return run;
}

/** Creates a run that has ended, and may have had some events of others. */
async function runToLoadAgain(projectId: number, id: string, loaded: number): Promise<void> {
  const { db } = bench;
  await endedRun(projectId, id);
  const load = { stage: 'load', partsDone: 0, done: 0, bytes: 0, rate: 0 };
  const totals = { ...noTotals, duplicates: 1, loaded };
  const common = { progress: JSON.stringify({ load }), totals: JSON.stringify(totals) };
  await db.updateTable('import_runs').set(common).where('id', '=', id).execute();
  const counts = { events: 0, bytes: 0, duplicates: 1, frames: 0, frames_loaded: 0, accepted: 0, rejected: 0 };
  const day = { run_id: id, project_id: projectId, day: '1999-01-01', ...counts, verified: 1, expected: '{}' } as const;
  await db.insertInto('import_days').values(day).execute();
  await rememberLoad(db, id);
}

interface UndoOptions {
  readonly store?: EventStore;
  readonly log?: Log;
}

/** Undoes a run with a real worker; the stage calls `failpoint`. */
async function undo(
  id: string,
  failpoint: (name: string) => void = () => undefined,
  { store = chdb.store, log = createLog('silent') }: UndoOptions = {},
): Promise<UndoResult> {
  await undoRun(bench.db, id);
  const stop = new AbortController();
  const stage = createUndoStage({
    db: bench.db,
    store,
    staging,
    clock: { now: () => receivedAt },
    failpoint,
    settled: () => bench.drain(),
    pollMs: 10,
    countMs: 10,
  });
  const none = async (): Promise<void> => undefined;
  const stages = { export: none, check: none, load: none, verify: none, report: none, undo: stage, replace: none };
  const worker = startRunWorker({
    db: bench.db,
    clock: { now: () => Date.now() },
    log,
    stagesOf: async () => stages,
    signal: stop.signal,
    concurrency: 1,
    pollMs: 10,
    checkMs: 50,
    onlyRun: id,
    sleep: async () => undefined,
  });
  for (let state = ''; state !== 'undone'; await delay(20)) {
    const run = await getRun(bench.db, id);
    state = run?.state ?? '';
    if (state === 'failed') throw new Error(run?.reason);
  }
  stop.abort();
  await worker.done;
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(stagingKeys.undo(id))) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString()) as UndoResult;
}

const stateOf = (projectId: number): Promise<ProjectState> => projectState({ ...bench, store: chdb.store }, projectId);

describe('undo of an import run', () => {
  it('leaves events, persons, groups and usage as if the run had never been, whatever fails on the way', async () => {
    const [mine, reference] = [bench.projectId, await addProject()];
    const live = madeEvents(1, 500);
    const first = madeEvents(2, 500, { runId: 'run-a', shared: live });
    const undone = madeEvents(3, 600, { runId: 'run-b', shared: [...live, ...first] });
    const third = madeEvents(4, 500, { runId: 'run-c', shared: live });
    const later = madeEvents(5, 200);
    for (const [lane, events] of [
      ['live', live],
      ['historical', first],
      ['historical', undone],
      ['historical', third],
      ['live', later],
    ] as const) {
      await send(lane, mine, events);
      if (events !== undone) await send(lane, reference, events);
    }
    const before = await stateOf(mine);
    const run = await endedRun(mine, 'run-b');
    const plan = await planUndo({ db: bench.db, store: chdb.store }, run);
    expect(await stateOf(mine)).toEqual(before);
    const seen = new Set<string>();
    const failOnce = (name: string): void => {
      if (seen.has(name)) return;
      seen.add(name);
      throw new Error(`planted at ${name}`);
    };
    bench.setFailpoint((name) => {
      if (name.startsWith('rebuild_')) failOnce(name);
    });
    // The worker stops retrying after five faults in a row.
    let faults = 0;
    const result = await undo('run-b', (name) => {
      if (faults++ < 40 && seen.size < 6) failOnce(name);
    });
    const expected = await stateOf(reference);
    const got = await stateOf(mine);
    expect(got.events).toEqual(expected.events);
    expect(got.persons).toEqual(expected.persons);
    expect(got.groups).toEqual(expected.groups);
    expect(got.usage).toEqual(expected.usage);
    expect(before.persons).not.toEqual(expected.persons);
    expect([...seen]).toEqual(expect.arrayContaining(['undo_recorded', 'undo_deleted', 'rebuild_computed']));
    expect(result).toMatchObject({ rows_left: 0, exceptions: [], loaded_again: [] });
    expect(result.plan.events).toBe(before.events.length - expected.events.length);
    expect(plan).toMatchObject({ rows: result.plan.rows, events: result.plan.events, exceptions: [] });
    expect(plan.distinct_ids).toBeGreaterThan(0);
    expect(plan.persons).toBeGreaterThan(0);
  });

  it('persons that only the run created disappear, and so do merges that only it caused; others remain', async () => {
    const { projectId } = bench;
    const event = (n: number, name: string, id: string, properties: object = {}): MadeEvent => ({
      event: name,
      distinct_id: id,
      uuid: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
      timestamp: '2024-03-05T10:00:00Z',
      properties: { ...properties },
    });
    const run = { $import_run_id: 'run-b' };
    await send('live', projectId, [
      event(1, 'seen', 'a', { $set: { plan: 'free' } }),
      event(2, 'seen', 'b'),
      event(9, 'seen', 'g'),
    ]);
    await send('live', projectId, [event(3, '$identify', 'c', { $anon_distinct_id: 'd' })]);
    await send('historical', projectId, [
      event(4, '$merge_dangerously', 'a', { alias: 'b', ...run }),
      event(5, 'seen', 'only-here', run),
      event(6, '$merge_dangerously', 'c', { alias: 'd', ...run }),
      event(7, '$identify', 'e', { $anon_distinct_id: 'f', ...run }),
    ]);
    // Refused, because the run has identified f.
    await send('live', projectId, [event(8, '$identify', 'g', { $anon_distinct_id: 'f' })]);
    expect((await bench.person('b'))?.distinct_ids).toEqual(['a', 'b']);
    expect((await bench.person('g'))?.distinct_ids).toEqual(['g']);
    await endedRun(projectId, 'run-b');
    await undo('run-b');
    expect((await bench.person('a'))?.distinct_ids).toEqual(['a']);
    expect(await bench.person('a')).toMatchObject({ properties: { plan: 'free' }, is_identified: false });
    expect((await bench.person('b'))?.distinct_ids).toEqual(['b']);
    expect((await bench.person('c'))?.distinct_ids).toEqual(['c', 'd']);
    expect(await bench.person('only-here')).toBeUndefined();
    expect(await bench.person('e')).toBeUndefined();
    expect((await bench.person('g'))?.distinct_ids).toEqual(['f', 'g']);
    // Later events find the persons as they are now.
    await send('live', projectId, [event(10, 'seen', 'b', { $set: { later: true } })]);
    expect(await bench.person('b')).toMatchObject({ properties: { later: true } });
  });

  it('a device stays with its first user by time, whatever order the source of another run had', async () => {
    const { projectId } = bench;
    await endedRun(projectId, 'run-a');
    await rememberReportedLoad(bench.db, 'run-a', { first: '2024-03-05', last: '2024-03-05' });
    // Rows of an attached table: `received_at` is the position in the source.
    const rows = new EventRowWriter();
    for (const [place, user, hour] of [
      [0, 'later', 11],
      [8, 'first', 10],
    ] as const) {
      rows.write({
        projectId,
        historical: true,
        receivedAtMicros: receivedAt * 1000 + place,
        timestampMicros: Date.parse(`2024-03-05T${hour}:00:00Z`) * 1000,
        keyDay: Math.floor(Date.parse('2024-03-05') / 86_400_000),
        uuid: `00000000-0000-4000-8000-0000000000${hour}`,
        event: '$identify',
        distinctId: user,
        properties: '{"$anon_distinct_id":"d","$import_run_id":"run-a"}',
        importRun: 'run-a',
      });
    }
    await chdb.store.insertBatch(rows.take(), 'run-a');
    const [seen] = madeEvents(1, 1);
    const ofB = { event: 'seen', distinct_id: 'd', properties: { $import_run_id: 'run-b' } };
    await send('historical', projectId, [{ ...(seen as MadeEvent), ...ofB }]);
    await endedRun(projectId, 'run-b');
    await undo('run-b');
    expect((await bench.person('d'))?.distinct_ids).toEqual(['d', 'first']);
  });

  it('a delete that the store cannot finish is a wait with its reason, in run and log, and finished months are counted', async () => {
    const { projectId, db } = bench;
    const events = ['2024-03-05', '2024-04-05'].map((day, at): MadeEvent => {
      const uuid = `00000000-0000-4000-8000-00000000000${at}`;
      const properties = { $import_run_id: 'run-b' };
      return { event: 'seen', distinct_id: 'a', uuid, timestamp: `${day}T10:00:00Z`, properties };
    });
    await send('historical', projectId, events);
    await endedRun(projectId, 'run-b');
    const reason = 'shard 2 has not deleted the events on every replica: ch4:8123 does not respond';
    const release = Promise.withResolvers<void>();
    const store: EventStore = {
      ...chdb.store,
      async deleteRun(rows, watch) {
        // Like a replica that has finished one month.
        await chdb.store.deleteRun({ ...rows, to: '2024-03-31' });
        watch?.onWait?.(reason);
        await release.promise;
        await chdb.store.deleteRun(rows);
      },
    };
    const lines: Record<string, unknown>[] = [];
    const log = createLog('info', { write: (line) => void lines.push(JSON.parse(line)) });
    const undone = undo('run-b', undefined, { store, log });
    const shown = async () => {
      const run = await getRun(db, 'run-b');
      return { waiting: run?.waiting, ...run?.progress.undo };
    };
    await expect.poll(shown).toMatchObject({ waiting: { reason }, done: 1, total: 3, partsDone: 1, partsTotal: 2 });
    release.resolve();
    expect(await undone).toMatchObject({ rows_left: 0 });
    expect(await shown()).toMatchObject({ waiting: null, done: 2, partsDone: 2, partsTotal: 2 });
    expect(lines.filter((line) => line['msg'] === 'import: run waits')).toMatchObject([{ run: 'run-b', reason }]);
  });

  it('a run that was queued to load again and failed is reported as an exception, never ignored', async () => {
    const { projectId, db } = bench;
    await send('historical', projectId, madeEvents(7, 50, { runId: 'run-b' }));
    await endedRun(projectId, 'run-b');
    await runToLoadAgain(projectId, 'run-c', 0);
    const fails = async (): Promise<void> => {
      while ((await getRun(db, 'run-c'))?.state !== 'queued') await delay(10);
      await db.updateTable('import_runs').set({ state: 'failed' }).where('id', '=', 'run-c').execute();
    };
    const [result] = await Promise.all([undo('run-b'), fails()]);
    expect(result).toMatchObject({
      loaded_again: ['run-c'],
      exceptions: [expect.stringMatching(/^Run run-c is failed/)],
    });
  });

  it('a project that keeps events for a limited time is named as an exception', async () => {
    const { projectId, db } = bench;
    await send('historical', projectId, madeEvents(7, 50, { runId: 'run-b' }));
    await endedRun(projectId, 'run-b');
    await savePolicy(db, projectId, { live_days: null, historical_days: 30, events: [] }, receivedAt);
    expect(await undo('run-b')).toMatchObject({ exceptions: [expect.stringContaining('only expired events had set')] });
  });

  it('runs that share its events load them again one after another, the oldest first', async () => {
    const { projectId, db } = bench;
    await send('historical', projectId, madeEvents(7, 50, { runId: 'run-b' }));
    await endedRun(projectId, 'run-b');
    await runToLoadAgain(projectId, 'run-d', 0);
    await runToLoadAgain(projectId, 'run-c', 0);
    for (const [index, id] of ['run-c', 'run-d'].entries()) {
      const created = { created_at: isoMicros(receivedAt + index) };
      await db.updateTable('import_runs').set(created).where('id', '=', id).execute();
    }
    const states = async (): Promise<(string | undefined)[]> =>
      Promise.all(['run-c', 'run-d'].map(async (id) => (await getRun(db, id))?.state));
    const completes = async (id: string): Promise<void> =>
      void (await db.updateTable('import_runs').set({ state: 'completed' }).where('id', '=', id).execute());
    const isAwaited = (id: string): Promise<boolean> => isAwaitedByUndo(db, { id, projectId });
    const undone = undo('run-b');
    await expect.poll(states).toEqual(['queued', 'completed']);
    expect([await isAwaited('run-c'), await isAwaited('run-d')]).toEqual([true, false]);
    await completes('run-c');
    await expect.poll(states).toEqual(['completed', 'queued']);
    expect(await isAwaited('run-d')).toBe(true);
    await completes('run-d');
    await undone;
    expect(await isAwaited('run-d')).toBe(false);
    expect(await undone).toMatchObject({ loaded_again: ['run-c', 'run-d'], exceptions: [] });
  });

  it('progress counts from its start what other runs load again and whose persons are rebuilt', async () => {
    const { projectId, db } = bench;
    await send('historical', projectId, madeEvents(7, 50, { runId: 'run-b' }));
    await endedRun(projectId, 'run-b');
    await runToLoadAgain(projectId, 'run-c', 60);
    const { rows, distinct_ids: ids } = await planUndo({ db, store: chdb.store }, (await getRun(db, 'run-b')) as Run);
    const shown: StageProgress[] = [];
    const undone = undo('run-b');
    const reaches = async (done: number): Promise<void> => {
      await expect
        .poll(async () => (await getRun(db, 'run-b'))?.progress.undo, { timeout: 30_000 })
        .toMatchObject({ done, total: rows + 60 + ids });
      shown.push((await getRun(db, 'run-b'))?.progress.undo as StageProgress);
    };
    const loads = async (stage: 'check' | 'load' | 'verify', done: number): Promise<void> => {
      const reached = { stage, partsDone: 0, done, total: 60, bytes: 0, rate: 0 };
      const set = { state: 'running', stage, progress: JSON.stringify({ [stage]: reached }) } as const;
      await db.updateTable('import_runs').set(set).where('id', '=', 'run-c').execute();
    };
    await reaches(rows);
    await loads('check', 30);
    await reaches(rows + 10);
    await loads('load', 30);
    await reaches(rows + 30);
    await loads('verify', 60);
    // The report is still missing.
    await reaches(rows + 59);
    expect(shown.map((each) => Math.floor((shareDone(each) ?? 0) * 100))).not.toContain(100);
    await db.updateTable('import_runs').set({ state: 'completed' }).where('id', '=', 'run-c').execute();
    const { plan } = await undone;
    const finished = (await getRun(db, 'run-b'))?.progress.undo;
    expect(finished).toMatchObject({ done: plan.events, total: plan.events });
  });

  it('the same events can be imported again by another run', async () => {
    const { projectId } = bench;
    const events = madeEvents(7, 300, { runId: 'run-b' });
    await send('historical', projectId, events);
    const before = await stateOf(projectId);
    await endedRun(projectId, 'run-b');
    await undo('run-b');
    expect(await stateOf(projectId)).toEqual({
      events: [],
      persons: [],
      groups: [],
      usage: { standard: 0, historical: 0 },
    });
    await send(
      'historical',
      projectId,
      events.map((each) => ofRun(each, 'run-2')),
    );
    const again = await projectState({ ...bench, store: chdb.store }, projectId, {
      runs: new Map([['run-2', 'run-b']]),
    });
    expect(again).toEqual(before);
    expect(await countRunRows(chdb.store, { projectId, runId: 'run-b', month: 202_403 })).toBe(0);
  });
});
