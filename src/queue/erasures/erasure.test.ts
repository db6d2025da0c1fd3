import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addViolations } from '../../pipeline/violation-tally.ts';
import { eraseStaged, findStagedMentions } from '../../imports/run/erase-staged.ts';
import { createRun } from '../../imports/run/run-store.ts';
import { openStaging } from '../../imports/staging/open-staging.ts';
import { stagingKeys, type Staging } from '../../imports/staging.ts';
import type { Lane } from '../../log/eventlog.ts';
import { readCursor } from '../../pipeline/cursors.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { selectionFilter } from '../../stores/events/selection.ts';
import { createDatabaseClock } from '../../stores/metadata/database-clock.ts';
import { findKeptOut } from '../../stores/metadata/kept-out-ids.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import type { ErasureResult, ErasureSpec } from '../../wire/contract/erasures.ts';
import type { EventSelection } from '../../wire/contract/event-selection.ts';
import { checkTest } from '../../../test/support/check-stage.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { createRecordingStore } from '../../../test/support/event-store-double.ts';
import { createBench, receivedAt, uuid, type Bench } from '../../../test/support/pipeline.ts';
import { projectState, type ProjectState } from '../../../test/support/project-state.ts';
import { newRun } from '../../../test/support/runs.ts';
import { filesWith } from '../../../test/support/store-bytes.ts';
import { runTasks } from '../tasks/task-runner.ts';
import { cancelTask, enqueueTask, findTask } from '../tasks/task-store.ts';
import type { TaskKind } from '../tasks/task.ts';
import { countFilterErasure, countPersonErasure, idsOfSamePersons } from './concerned-events.ts';
import { createErasures, erasureKind, type LogEnd } from './erasure.ts';

let chdb: TempChdb;
let bench: Bench;
let dir: string;
let staging: Staging;
let appended: Record<Lane, number>;
beforeEach(async () => {
  chdb = await tempChdb();
  dir = await mkdtemp(join(tmpdir(), 'millrace-erase-'));
  staging = await openStaging(dir);
  bench = await createBench({ recording: { ...createRecordingStore(), store: chdb.store } });
  appended = { live: 0, historical: 0 };
});
afterEach(async () => {
  await bench[Symbol.asyncDispose]();
  await chdb.close();
  await rm(dir, { recursive: true, force: true });
});

interface Sent {
  readonly event: string;
  readonly distinct_id: string;
  readonly uuid?: string;
  readonly timestamp?: string;
  readonly properties?: object;
}

let sent = 0;
async function append(projectId: number, lane: Lane, batch: readonly Sent[]): Promise<void> {
  sent += 1;
  const more = { projectId, events: batch.length, receivedAt: receivedAt + sent };
  appended[lane] = await bench.append(lane, { batch }, more);
}

const addProject = async (): Promise<number> => {
  const { organization_id } = await bench.db.selectFrom('projects').select('organization_id').executeTakeFirstOrThrow();
  return (await createProject(bench.db, { organizationId: organization_id, name: 'other' }, receivedAt)).id;
};

const secret = "canary-7f3a'\\é";
const alias = 'canary-alias-12345678901234567890';
const mail = 'canary-mail@example.com';
const canaries = [secret, alias, mail, Buffer.from(secret).toString('hex')];

/** Events of one person under two ids, over 12 months in both lanes. */
function ofCanary(): Record<Lane, Sent[]> {
  const at = (month: number): string => `2024-${String(month).padStart(2, '0')}-03T10:00:00Z`;
  const events = Array.from({ length: 60 }, (_, n): Sent => {
    const properties = { n, $set: { email: mail } };
    return {
      event: n % 3 ? 'seen' : "it's bought",
      distinct_id: secret,
      uuid: uuid(n),
      timestamp: at((n % 12) + 1),
      properties,
    };
  });
  const identify = { event: '$identify', distinct_id: secret, uuid: uuid(900), timestamp: at(1) };
  const group = { event: '$groupidentify', distinct_id: secret, uuid: uuid(901), timestamp: at(2) };
  const theirs = { $group_type: 'company', $group_key: 'acme', $group_set: { owner: mail } };
  return {
    live: [
      { event: 'seen', distinct_id: alias, uuid: uuid(899), timestamp: at(1) },
      { ...identify, properties: { $anon_distinct_id: alias } },
      { ...group, properties: theirs },
    ],
    historical: events,
  };
}

function ofOthers(): Record<Lane, Sent[]> {
  const others = Array.from({ length: 40 }, (_, n): Sent => {
    const id = n % 4 === 0 ? secret.slice(0, -1) : `other ${n % 7}`;
    const timestamp = `2024-${String((n % 12) + 1).padStart(2, '0')}-03T10:00:00Z`;
    return {
      event: 'seen',
      distinct_id: id,
      uuid: uuid(1000 + n),
      timestamp,
      properties: { n, $set: { plan: `p${n}` } },
    };
  });
  const group = {
    event: '$groupidentify',
    distinct_id: 'other 1',
    uuid: uuid(1900),
    timestamp: '2024-01-01T00:00:00Z',
  };
  const theirs = { $group_type: 'company', $group_key: 'acme', $group_set: { size: 9007199254740993n.toString() } };
  return { live: others, historical: [{ ...group, properties: theirs }] };
}

async function send(projectId: number, { live, historical }: Record<Lane, Sent[]>): Promise<void> {
  await append(projectId, 'live', live);
  await append(projectId, 'historical', historical);
  await bench.drain();
}

const ends = async (): Promise<LogEnd[]> =>
  (['live', 'historical'] as const).map((lane) => ({ slot: 0, lane, seq: appended[lane] }));

/** Runs the task with a worker that fails at each step once, as often as `faults` says. */
async function erase(
  projectId: number,
  secrets: { readonly ids?: string; readonly selection?: string },
  failpoint: (name: string) => void = () => undefined,
  more: Partial<ErasureSpec> = {},
): Promise<ErasureResult> {
  const by = secrets.selection === undefined ? 'persons' : 'events';
  const spec: ErasureSpec = { by, requested_ids: 1, selection: null, ...more };
  const task = { projectId, kind: erasureKind, spec, secrets: { ...secrets }, createdBy: null, now: receivedAt };
  const id = await enqueueTask(bench.db, task);
  const stop = startErasures(failpoint);
  const of = { projectId, kind: erasureKind };
  await expect.poll(async () => (await findTask(bench.db, of, id))?.state, { timeout: 60_000 }).toBe('done');
  await stop();
  return (await findTask(bench.db, of, id))?.result as ErasureResult;
}

function startErasures(failpoint: (name: string) => void): () => Promise<void> {
  const { db } = bench;
  const stop = new AbortController();
  const kind = createErasures({
    db,
    store: chdb.store,
    clock: createDatabaseClock(db),
    staged: {
      find: (project, ids) => findStagedMentions({ db, staging }, project, ids),
      remove: (project, runId) =>
        eraseStaged(
          { db, staging, dropTables: chdb.store.runTables.drop, now: receivedAt },
          { projectId: project, runId },
        ),
    },
    log: {
      ends,
      isStored: async ({ slot, lane, seq }) => (await readCursor(db, { slot, lane: lane as Lane })).seq >= seq,
      forgetStored: async () => true,
    },
    failpoint,
    pollMs: 10,
  });
  const running = runTasks({ db, log: createLog('silent'), signal: stop.signal, pollMs: 5, retryMs: 1 }, [
    kind as TaskKind,
  ]);
  return async () => {
    stop.abort();
    await running;
  };
}

const stateOf = (projectId: number): Promise<ProjectState> => projectState({ ...bench, store: chdb.store }, projectId);

async function countOf(projectId: number, ids: readonly string[]) {
  const { db } = bench;
  const staged = { find: (project: number, of: readonly string[]) => findStagedMentions({ db, staging }, project, of) };
  return countPersonErasure({ db, store: chdb.store, staged }, projectId, await idsOfSamePersons(db, projectId, ids));
}

/** Adds a dead letter, a sample, and staged records of an ended run, each of the person and of another one. */
async function addOtherData(projectId: number): Promise<void> {
  await append(projectId, 'live', [
    { event: '', distinct_id: secret, uuid: uuid(1) },
    { event: '', distinct_id: 'other 1', uuid: uuid(2) },
  ]);
  await bench.drain();
  const time = { created_at: 'x', updated_at: 'x', created_by: null };
  for (const [name, id] of [
    ['theirs', alias],
    ['another', `${alias}0`],
  ] as const) {
    const event = JSON.stringify({ event: 'seen', distinct_id: id });
    await bench.db
      .insertInto('sample_events')
      .values({ project_id: projectId, name, event, ...time })
      .execute();
    const row = { event: name, property: 'p', rule: 'type', count: 1, samples: [{ distinct_id: id }] };
    await addViolations(bench.db, [{ projectId, hour: 'h', lastSeen: 'h', ...row }]);
  }
  for (const [run, id] of [
    ['run-with', secret],
    ['run-without', 'other 1'],
  ] as const) {
    await createRun(bench.db, newRun({ id: run, projectId }));
    await bench.db
      .updateTable('import_runs')
      .set({ state: 'completed', stage: 'report' })
      .where('id', '=', run)
      .execute();
    const lines = `${JSON.stringify({ user: 'first' })}\n${JSON.stringify({ user: { id }, event: 'seen' })}\n`;
    await staging.write(stagingKeys.segment(run, 1, 1), [zstdCompressSync(Buffer.from(lines))]);
  }
}

describe('erasing a person', () => {
  it('leaves the project as if the person had never been, whatever fails on the way, and no byte in its files', async () => {
    const [mine, reference] = [bench.projectId, await addProject()];
    await send(mine, ofCanary());
    await send(mine, ofOthers());
    await send(reference, ofOthers());
    await addOtherData(mine);
    const before = await stateOf(mine);
    const dryRun = await countOf(mine, [alias]);
    expect(await stateOf(mine)).toEqual(before);
    expect(filesWith(chdb.dir, canaries)).not.toEqual([]);
    const failed = new Set<string>();
    const result = await erase(mine, { ids: JSON.stringify([alias]) }, (name) => {
      if (failed.has(name)) return;
      failed.add(name);
      throw new Error(`planted at ${name}`);
    });
    expect([...failed]).toEqual([
      'erasure_counted',
      'erasure_erased',
      'erasure_cleaned',
      'erasure_rebuilding',
      'erasure_forgetting',
    ]);
    const [got, expected] = [await stateOf(mine), await stateOf(reference)];
    expect(got.events).toEqual(expected.events);
    expect(got.persons).toEqual(expected.persons);
    expect(got.groups).toEqual(expected.groups);
    const counts = { events: 63, distinct_ids: 2, persons: 1, dead_letters: 1, staged_runs: ['run-with'] };
    expect(dryRun).toMatchObject({
      ...counts,
      by_name: { seen: 41, "it's bought": 20, $identify: 1, $groupidentify: 1 },
    });
    expect(result).toMatchObject(dryRun);
    expect(result).toMatchObject({ rows_left: 0, log: 'erased' });
    expect((await bench.deadLetters()).map(({ distinct_id: id }) => id)).toEqual(['other 1']);
    const violations = await bench.db.selectFrom('tracking_plan_violations').select(['event', 'samples']).execute();
    expect(new Map(violations.map(({ event, samples: kept }) => [event, kept === '[]']))).toEqual(
      new Map([
        ['theirs', true],
        ['another', false],
      ]),
    );
    const samples = await bench.db.selectFrom('sample_events').select('name').execute();
    expect(samples).toEqual([{ name: 'another' }]);
    expect((await staging.list('')).map(({ key }) => key)).toEqual([stagingKeys.segment('run-without', 1, 1)]);
    expect(filesWith(chdb.dir, canaries)).toEqual([]);
  });

  it('events that were accepted before the request are erased too, and those of later requests are not', async () => {
    const { projectId } = bench;
    await send(projectId, ofOthers());
    const seen = (n: number, id: string): Sent => ({
      event: 'seen',
      distinct_id: id,
      uuid: uuid(n),
      timestamp: '2024-05-01T00:00:00Z',
    });
    await append(projectId, 'live', [
      seen(1, alias),
      { ...seen(2, secret), event: '$identify', properties: { $anon_distinct_id: alias } },
    ]);
    const result = await erase(projectId, { ids: JSON.stringify([alias]) });
    expect(result).toMatchObject({ events: 2, distinct_ids: 2, persons: 1, rows_left: 0 });
    await append(projectId, 'live', [seen(3, alias)]);
    await bench.drain();
    expect(await bench.person(secret)).toBeUndefined();
    expect(await bench.person(alias)).toMatchObject({ distinct_ids: [alias], properties: {} });
    expect((await countOf(projectId, [alias])).events).toBe(1);
  });

  it('keeps all ids of the person out on request, whatever fails on the way, and no others', async () => {
    const { db, projectId } = bench;
    await send(projectId, ofCanary());
    await send(projectId, ofOthers());
    const failed = new Set<string>();
    const fail = (name: string): void => {
      if (failed.has(name)) return;
      failed.add(name);
      throw new Error(`planted at ${name}`);
    };
    await erase(projectId, { ids: JSON.stringify([alias]) }, fail, { keep_out: true });
    const list = await findKeptOut(db, projectId);
    expect(list?.hashes).toHaveLength(2);
    const before = await stateOf(projectId);
    const again = ofCanary();
    const renamed = (events: readonly Sent[]): Sent[] => events.map((event, n) => ({ ...event, uuid: uuid(5000 + n) }));
    await send(projectId, again);
    await send(projectId, { live: renamed(again.historical), historical: renamed(again.live) });
    expect(await stateOf(projectId)).toEqual(before);
    await append(projectId, 'live', [{ event: 'seen', distinct_id: 'new', uuid: uuid(9000) }]);
    await bench.drain();
    expect(await bench.person('new')).toMatchObject({ distinct_ids: ['new'] });
    const lists = [await db.selectFrom('kept_out_ids').selectAll().execute(), await bench.warnings()];
    for (const canary of canaries) expect(JSON.stringify(lists)).not.toContain(canary);

    await using test = await checkTest({
      format: 'mapping',
      formatOptions: { mapping: '{"event":"event","distinct_id":"user","timestamp":"at"}' },
    });
    const at = '2024-05-01T00:00:00Z';
    const users = [secret, 'other 1', alias, secret.slice(0, -1)];
    const lines = users.map((user) => JSON.stringify({ event: 'seen', user, at }));
    await test.stage('file', lines, 2);
    const { totals } = await test.check({ keptOut: () => findKeptOut(db, projectId) });
    expect([totals.events, totals.skipped]).toEqual([2, { 'an erased id is kept out (id_kept_out)': 2 }]);
    expect((await test.events()).map(({ distinct_id: id }) => id)).toEqual(['other 1', secret.slice(0, -1)]);
  });

  it('waits for a run that is at work or can be resumed with records of the person, and can be cancelled until it deletes', async () => {
    const { db, projectId } = bench;
    await send(projectId, ofCanary());
    await addOtherData(projectId);
    const before = await stateOf(projectId);
    const of = { projectId, kind: erasureKind };
    const set = (run: string, state: 'running' | 'paused') =>
      db.updateTable('import_runs').set({ state }).where('id', '=', run).execute();
    await set('run-without', 'running');
    await set('run-with', 'paused');
    const spec: ErasureSpec = { by: 'persons', requested_ids: 1, selection: null };
    const id = await enqueueTask(db, {
      ...of,
      spec,
      secrets: { ids: JSON.stringify([secret]) },
      createdBy: null,
      now: receivedAt,
    });
    const stop = startErasures(() => undefined);
    const error = () => expect.poll(async () => (await findTask(db, of, id))?.error, { timeout: 20_000 });
    await error().toContain('run-without is at work');
    await set('run-without', 'paused');
    await error().toContain('run-with is paused or failed and has staged records of the person');
    expect(await cancelTask(db, of, id, receivedAt)).toBe(true);
    await expect.poll(() => db.selectFrom('profile_rebuilds').select('id').execute(), { timeout: 20_000 }).toEqual([]);
    await stop();
    expect(await stateOf(projectId)).toEqual(before);
  });
});

describe('erasing events by a filter', () => {
  it('removes what the dry run counted, and computes persons and groups again from what remains', async () => {
    const [mine, reference] = [bench.projectId, await addProject()];
    const others = ofOthers();
    await send(mine, others);
    const isErased = ({ event, properties = {} }: Sent): boolean =>
      event === 'seen' && Number((properties as { n: number }).n) >= 20;
    const rest = (events: Sent[]): Sent[] => events.filter((event) => !isErased(event));
    await send(reference, { live: rest(others.live), historical: rest(others.historical) });
    const selection: EventSelection = { events: ['se*n'], properties: [{ key: 'n', operator: 'gte', value: '20' }] };
    const rows = { projectId: mine, filter: selectionFilter(selection) };
    const dryRun = await countFilterErasure({ db: bench.db, store: chdb.store }, rows);
    expect(dryRun).toMatchObject({ events: 20, by_name: { seen: 20 } });
    const result = await erase(mine, { selection: JSON.stringify(selection) });
    expect(result).toMatchObject(dryRun);
    const [got, expected] = [await stateOf(mine), await stateOf(reference)];
    expect(got).toEqual(expected);
  });
});
