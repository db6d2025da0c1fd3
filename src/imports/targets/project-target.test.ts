import { zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { countsOf, insertSegment, runRow, sourceStart } from '../../../test/support/run-table-rows.ts';
import { StoreUnavailableError, type RowBatch, type RunRef } from '../../stores/events/eventstore.ts';
import { EventRowWriter } from '../../stores/events/rows.ts';
import { TargetError, TargetWaitError, type TableTarget } from '../target.ts';
import { createAttachTurns, openProjectTarget, type ProjectTargetOptions } from './project-target.ts';
import type { IngestResult } from './project-ingest.ts';

let chdb: TempChdb;
beforeAll(async () => {
  chdb = await tempChdb();
});
afterAll(() => chdb.close());

const run = { projectId: 7, runId: 'run-1' };
const { signal } = new AbortController();

interface Opened {
  readonly tables: TableTarget;
  readonly calls: (readonly [method: string, ...given: unknown[]])[];
}

function open(answer: IngestResult, more: Partial<ProjectTargetOptions> = {}): Opened {
  const calls: [string, ...unknown[]][] = [];
  const record = async (...call: [string, ...unknown[]]): Promise<IngestResult> => {
    calls.push(call);
    return answer;
  };
  const { tables } = openProjectTarget({
    ...run,
    store: chdb.store,
    isWatched: async () => false,
    isAwaitedByUndo: async () => false,
    turns: createAttachTurns(),
    drained: async () => {},
    ingest: {
      accept: (body, events) => record('accept', body, events),
      admit: (events) => record('admit', events),
      acceptFacts: (of, body, facts) => record('acceptFacts', of, zstdDecompressSync(body).toString(), facts),
    },
    ...more,
  });
  if (tables === undefined) throw new Error('expected a project to take tables');
  return { tables, calls };
}

const facts = { day: '2024-03-01', lines: Buffer.from('{"uuid":"u"}'), events: 1 };

describe('the table of a run whose target is its project', () => {
  it('is not attached while plugins of the project change or receive events', async () => {
    let isWatched = true;
    const { tables } = open({ kind: 'accepted' }, { isWatched: async () => isWatched });
    expect(await tables.isOpen(signal)).toBe(false);
    isWatched = false;
    expect(await tables.isOpen(signal)).toBe(true);
  });

  it('adds the rows of a month to the events once, however often it is attached', async () => {
    const { tables } = open({ kind: 'accepted' });
    await chdb.store.runTables.create(run);
    await insertSegment(chdb.store, run, 'one', [runRow(run, 1), runRow(run, 2)]);
    for (let times = 0; times < 2; times += 1) await tables.attach(202403, signal);
    expect(await countsOf(chdb.store, run, 'shown')).toMatchObject([{ day: '2024-03-01', event: 'seen', count: 2 }]);
  });

  it('sends a month instead if others have stored events in it that count as received later', async () => {
    const own = { projectId: 8, runId: 'run-1' };
    const { tables } = open({ kind: 'accepted' }, own);
    await chdb.store.runTables.create(own);
    await insertSegment(chdb.store, own, 'one', [runRow(own, 1), runRow(own, 2)]);
    const live = (receivedAtMicros: number): RowBatch => {
      const rows = new EventRowWriter();
      rows.write({ ...runRow(own, 3), historical: false, receivedAtMicros, importRun: '', properties: '{}' });
      return rows.take();
    };
    await chdb.store.insertBatch(live(runRow(own, 0).receivedAtMicros - 1), 'earlier');
    expect(await tables.attach(202403, signal)).toBe(true);
    await chdb.store.insertBatch(live(runRow(own, 2).receivedAtMicros + 1), 'later');
    expect(await tables.attach(202403, signal)).toBe(false);
  });

  it.each([
    ['attached', 'run-2'],
    ['sent', 'run-3'],
  ])('that an undo lets load again is attached before later runs if it was: %s', async (was, shown) => {
    const projectId = was === 'sent' ? 10 : 9;
    const { runTables } = chdb.store;
    const [own, later] = [2, 3].map((number) => ({ projectId, runId: `run-${number}` })) as [RunRef, RunRef];
    const { event, uuid } = { ...runRow(own, 0), event: '$identify' };
    const opened = (run: RunRef, isAwaited: boolean): TableTarget =>
      open({ kind: 'accepted' }, { ...run, isAwaitedByUndo: async () => isAwaited }).tables;
    // What is stored once the engine has merged the link of this run into that of the undone run, which is deleted.
    await runTables.create(own);
    await insertSegment(chdb.store, own, 'seen', [runRow(own, 11)]);
    expect(await opened(own, false).attach(202403, signal)).toBe(true);
    await runTables.create(later);
    await insertSegment(chdb.store, later, 'link', [runRow(later, 20, { event, uuid })]);
    expect(await opened(later, false).attach(202403, signal)).toBe(true);
    if (was === 'sent') {
      const rows = new EventRowWriter();
      rows.write({ ...runRow(own, 12), receivedAtMicros: sourceStart + 30 });
      await chdb.store.insertBatch(rows.take(), 'sent');
    }
    await insertSegment(chdb.store, own, 'link', [runRow(own, 10, { event, uuid })]);
    expect(await opened(own, false).attach(202403, signal)).toBe(false);
    expect(await opened(own, true).attach(202403, signal)).toBe(was === 'attached');
    const rows = await chdb.store.query(
      "SELECT import_run FROM events FINAL WHERE project_id = {project:Int32} AND event = '$identify'",
      { project: projectId },
    );
    expect(rows).toEqual([{ import_run: shown }]);
  });

  it('waits for an unavailable event store', async () => {
    const attach = async (): Promise<void> => {
      throw new StoreUnavailableError('down');
    };
    const store = { ...chdb.store, runTables: { ...chdb.store.runTables, attach } };
    await expect(open({ kind: 'accepted' }, { store }).tables.attach(202403, signal)).rejects.toThrow(TargetWaitError);
  });

  it('counts events against the agreement, and passes facts without it', async () => {
    const { tables, calls } = open({ kind: 'accepted' });
    await tables.admit(1000, signal);
    await tables.deliverFacts('persons', facts, signal);
    expect(calls).toEqual([
      ['admit', 1000],
      ['acceptFacts', 'persons', '{"uuid":"u"}', 1],
    ]);
  });

  it.each<[IngestResult, object]>([
    [
      { kind: 'wait', reason: 'too fast', retryAfterMs: 70 },
      { name: 'TargetWaitError', retryAfterMs: 70 },
    ],
    [
      { kind: 'refused', reason: 'no agreement' },
      { name: 'TargetError', message: 'no agreement' },
    ],
  ])('waits, or fails, as the ingest decides: %j', async (answer, error) => {
    const { tables } = open(answer);
    await expect(tables.admit(1, signal)).rejects.toMatchObject(error);
    await expect(tables.deliverFacts('persons', facts, signal)).rejects.toMatchObject(error);
  });

  it('does nothing once the run is stopped', async () => {
    const { tables, calls } = open({ kind: 'accepted' });
    const stopped = AbortSignal.abort(new TargetError('stopped'));
    const methods = [
      () => tables.isOpen(stopped),
      () => tables.admit(1, stopped),
      () => tables.attach(202403, stopped),
      () => tables.deliverFacts('persons', facts, stopped),
    ];
    for (const method of methods) await expect(method()).rejects.toThrow('stopped');
    expect(calls).toEqual([]);
  });
});
