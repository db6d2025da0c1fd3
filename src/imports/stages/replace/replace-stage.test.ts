import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLog } from '../../../server/telemetry/log.ts';
import { tempMetadata } from '../../../../test/support/metadata.ts';
import { newRun, runOptions } from '../../../../test/support/runs.ts';
import type { Metadata } from '../../../stores/metadata/database.ts';
import { fieldWords } from '../../run/advice-words.ts';
import type { RunKind } from '../../run/claim-run.ts';
import { RunFailedError, type RunStage } from '../../run/leased-run.ts';
import type { SameRecords } from '../../../wire/contract/import-results.ts';
import { createRun, getRun } from '../../run/run-store.ts';
import { pauseRun, resumeRun } from '../../run/run-transitions.ts';
import { startRunWorker } from '../../run/run-worker.ts';
import { noTotals, type Run, type RunOptions, type RunState } from '../../run/run.ts';
import { earlierRunsIn } from '../../run/same-records.ts';
import { openStaging } from '../../staging/open-staging.ts';
import { stagingKeys, type Staging } from '../../staging.ts';
import { createReplaceStage } from './replace-stage.ts';

let metadata: Awaited<ReturnType<typeof tempMetadata>>;
let db: Metadata;
let dir: string;
let staging: Staging;
beforeEach(async () => {
  metadata = await tempMetadata();
  db = metadata.db;
  dir = await mkdtemp(join(tmpdir(), 'millrace-replace-'));
  staging = await openStaging(dir);
});
afterEach(async () => {
  await metadata[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

async function earlierRun(id: string, state: RunState = 'completed'): Promise<void> {
  await createRun(db, newRun({ id }));
  await db.updateTable('import_runs').set({ state, stage: 'report' }).where('id', '=', id).execute();
}

const same = (run: string): SameRecords => ({
  run,
  created_at: '2026-11-20T10:00:00Z',
  records: 10,
  loaded: 10,
  again: 10,
});

/** Creates a run whose check found these runs to have the same records. */
async function checkedRun(options: Partial<RunOptions>, found: readonly SameRecords[]): Promise<void> {
  await createRun(db, newRun({ id: 'new', options: { ...runOptions, ...options } }));
  await db.updateTable('import_runs').set({ stage: 'replace' }).where('id', '=', 'new').execute();
  const totals = { ...noTotals, records: 10, events: 10 };
  const check = { verdict: 'passed', problems: [], totals, duplicates: 0, same_records: found };
  await staging.write(stagingKeys.check('new'), [Buffer.from(JSON.stringify(check))]);
}

interface World {
  readonly ready?: () => Promise<void>;
  readonly failpoint?: (name: string) => void;
  readonly undo?: RunStage;
  readonly check?: RunStage;
}

/** Starts one worker of each kind until `isDone`. Returns what happened, in order. */
async function work(isDone: () => Promise<boolean>, { ready, failpoint, undo, check }: World = {}): Promise<string[]> {
  const stop = new AbortController();
  const seen: string[] = [];
  const mark =
    (name: string, does?: RunStage): RunStage =>
    async (leased) => {
      seen.push(`${name} ${leased.run.id}`);
      await does?.(leased);
    };
  const replace = createReplaceStage({
    db,
    staging,
    clock: { now: Date.now },
    failpoint: failpoint ?? (() => undefined),
    words: fieldWords,
    earlier: earlierRunsIn(db),
    ready: ready ?? (async () => undefined),
    check: mark('check', check),
    pollMs: 5,
  });
  const undoneRun: RunStage = async ({ run }) => {
    const undone = { plan: { events: 10 }, rows_left: 0, loaded_again: [] };
    await staging.write(stagingKeys.undo(run.id), [Buffer.from(JSON.stringify(undone))]);
  };
  const stages = {
    export: mark('export'),
    check: mark('check'),
    replace: mark('replace', replace),
    load: mark('load'),
    verify: mark('verify'),
    report: mark('report'),
    undo: mark('undo', undo ?? undoneRun),
  };
  const workers = (['import', 'replace', 'undo'] satisfies RunKind[]).map((kind) =>
    startRunWorker({
      db,
      clock: { now: Date.now },
      log: createLog('silent'),
      stagesOf: async () => stages,
      signal: stop.signal,
      concurrency: 1,
      kind,
      pollMs: 5,
      checkMs: 20,
      sleep: async () => undefined,
    }),
  );
  while (!(await isDone())) await delay(5);
  stop.abort();
  await Promise.all(workers.map(({ done }) => done));
  return seen;
}

const stateOf = async (id: string): Promise<Run> => {
  const run = await getRun(db, id);
  if (run === undefined) throw new Error(`expected a run ${id}`);
  return run;
};
const ended = async (): Promise<boolean> => ['completed', 'failed'].includes((await stateOf('new')).state);

describe('a run that replaces another', () => {
  it('undoes it between check and load, with one worker of each kind, whatever fails on the way', async () => {
    await earlierRun('old');
    await checkedRun({ replace: true }, [same('old')]);
    const failed = new Set<string>();
    const failpoint = (name: string): void => {
      if (failed.has(name)) return;
      failed.add(name);
      throw new Error(`planted at ${name}`);
    };
    const seen = await work(ended, { failpoint });
    expect(failed).toEqual(new Set(['import_replace_decided', 'import_replace_requested', 'import_replaced_one']));
    expect(seen.filter((each) => !each.startsWith('replace'))).toEqual([
      'undo old',
      'load new',
      'verify new',
      'report new',
    ]);
    expect(await stateOf('old')).toMatchObject({ state: 'undone' });
    expect(await stateOf('new')).toMatchObject({ state: 'completed', totals: { replaced: { old: 10 } } });
  });

  it('checks its records again, once, after an undo made other runs load events again, whatever fails on the way', async () => {
    await earlierRun('old');
    await checkedRun({ replace: true }, [same('old')]);
    const undo: RunStage = async ({ run }) => {
      const undone = { plan: { events: 10 }, rows_left: 0, loaded_again: ['other'] };
      await staging.write(stagingKeys.undo(run.id), [Buffer.from(JSON.stringify(undone))]);
    };
    const replacedAtCheck: unknown[] = [];
    const check: RunStage = async ({ run }) => {
      replacedAtCheck.push(run.totals.replaced);
      if (replacedAtCheck.length === 1) throw new Error('planted in the check');
      const result = { verdict: 'passed', problems: [], totals: noTotals, duplicates: 0, after_replacing: ['old'] };
      await staging.write(stagingKeys.check('new'), [Buffer.from(JSON.stringify(result))]);
    };
    const failed = new Set<string>();
    const failpoint = (name: string): void => {
      if (failed.has(name) || name !== 'import_replace_check_discarded') return;
      failed.add(name);
      throw new Error(`planted at ${name}`);
    };
    const seen = await work(ended, { undo, check, failpoint });
    expect(failed.size).toBe(1);
    expect(replacedAtCheck).toEqual([{ old: 10 }, { old: 10 }]);
    expect(seen.filter((each) => !each.startsWith('replace'))).toEqual([
      'undo old',
      'check new',
      'check new',
      'load new',
      'verify new',
      'report new',
    ]);
  });

  it('undoes nothing before the new records passed their check and may be loaded', async () => {
    await earlierRun('old');
    await checkedRun({ replace: true }, [same('old')]);
    const ready = async (): Promise<void> => {
      throw new RunFailedError('no agreement');
    };
    await work(ended, { ready });
    expect(await stateOf('new')).toMatchObject({ state: 'failed', stage: 'replace', reason: 'no agreement' });
    expect(await stateOf('old')).toMatchObject({ state: 'completed' });
    expect((await stateOf('new')).totals.replaced).toBeUndefined();
  });

  it.each<[string, RunOptions['replace'], readonly string[], string]>([
    ['no earlier run is known', true, [], 'No earlier run converted these records differently'],
    ['several are known', true, ['old', 'older'], 'replace set to old, older'],
    ['another one would remain', ['old'], ['old', 'older'], 'Run older of'],
  ])('must be clear about which run it replaces: %s', async (_name, replace, found, reason) => {
    await earlierRun('old');
    await earlierRun('older');
    await checkedRun({ ...(replace !== undefined && { replace }) }, found.map(same));
    await work(ended);
    expect(await stateOf('new')).toMatchObject({ state: 'failed', reason: expect.stringContaining(reason) as string });
    expect(await stateOf('old')).toMatchObject({ state: 'completed' });
  });

  it('waits for a run that is loading, and for an undo that a user paused', async () => {
    await earlierRun('old', 'running');
    const later = new Date(Date.now() + 60_000).toISOString().replace('Z', '000Z');
    await db.updateTable('import_runs').set({ lease_until: later }).where('id', '=', 'old').execute();
    await checkedRun({ replace: ['old'] }, []);
    const waits = new Set<string>();
    const undo: RunStage = async ({ run, signal }) => {
      if (waits.has('undone')) return;
      waits.add('undone');
      await pauseRun(db, run.id);
      await delay(10_000, undefined, { signal });
    };
    await work(
      async () => {
        const { waiting } = await stateOf('new');
        const reason = waiting?.reason ?? '';

        if (reason.includes('is running') && !waits.has('running')) {
          waits.add('running');
          await db
            .updateTable('import_runs')
            .set({ state: 'completed', lease_until: null })
            .where('id', '=', 'old')
            .execute();
        }
        if (reason.includes('is paused') && !waits.has('paused')) {
          waits.add('paused');
          await resumeRun(db, 'old');
        }
        return ended();
      },
      { undo },
    );
    expect(waits).toEqual(new Set(['running', 'undone', 'paused']));
    expect(await stateOf('new')).toMatchObject({ state: 'completed' });
  });

  it('fails if the undo fails twice, and continues it when it is resumed', async () => {
    await earlierRun('old');
    await checkedRun({ replace: true }, [same('old')]);
    const undo: RunStage = async () => {
      throw new RunFailedError('rows are left');
    };
    await work(ended, { undo });
    expect(await stateOf('new')).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('rows are left') as string,
    });
    await resumeRun(db, 'new');
    await work(ended);
    expect([(await stateOf('old')).state, (await stateOf('new')).state]).toEqual(['undone', 'completed']);
  });
});
