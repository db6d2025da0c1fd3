import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../../test/support/metadata.ts';
import type { LeasedRun } from '../../run/leased-run.ts';
import { createRunWriter } from '../../run/run-writer.ts';
import { createRun, getRun } from '../../run/run-store.ts';
import { pauseRun } from '../../run/run-transitions.ts';
import { claimRun } from '../../run/claim-run.ts';
import { openStaging } from '../../staging/open-staging.ts';
import { stagingKeys, type RejectedRecord, type Staging } from '../../staging.ts';
import { makeReport, createReportStage } from './report-stage.ts';
import type { ReportResult } from './report.ts';
import { readRunRows } from '../../run/run-rows.ts';
import { exactSources } from './report-sources.fixture.ts';

const clock = { now: () => Date.parse('2026-11-21T12:00:00Z') };

describe('the stage of the report', () => {
  it('reports what the metadata store and staging contain, exact to the rejected event', async () => {
    await using test = await startReported();
    const { staging, leased, run, db } = test;
    const stage = createReportStage({ staging, clock });
    await stage(leased);
    // It may be repeated, as after a crash.
    await stage(leased);
    const report = JSON.parse(await textOf(staging, stagingKeys.report(run, 'json'))) as ReportResult;
    expect(report.balance.filter(({ holds }) => !holds)).toEqual([]);
    expect(report).toMatchObject({ verdict: 'exact', run: { id: run, source: 'files' } });
    expect(report.events[0]).toMatchObject({ event: '$pageview', rejected: 1 });
    expect(await textOf(staging, stagingKeys.report(run, 'html'))).toContain('Exact');
    const stored = await getRun(db, run);
    expect(stored?.progress.report).toMatchObject({ partsDone: 2, finishedAt: clock.now() });
    if (stored === undefined) throw new Error('expected the run');
    const seen = await makeReport({
      staging,
      clock,
      run: { ...stored, stage: 'report' },
      rows: readRunRows(db, run),
    });
    expect(seen.totals).toEqual(report.totals);
  });

  it.each(['import_report_json_written', 'import_report_written'])(
    'killed at %s and resumed, writes the same report as without the kill',
    async (place) => {
      await using test = await startReported();
      const { staging, leased, run } = test;
      const failpoint = (name: string): void => {
        if (name === place) throw new Error('killed');
      };
      await expect(createReportStage({ staging, clock, failpoint })(leased)).rejects.toThrow('killed');
      await createReportStage({ staging, clock })(leased);
      const again = await bothForms(staging, run);
      await staging.remove(stagingKeys.report(run, 'json'));
      await staging.remove(stagingKeys.report(run, 'html'));
      await createReportStage({ staging, clock })(leased);
      expect(again).toEqual(await bothForms(staging, run));
    },
  );

  it('a difference between the rows and the files of rejected records prevents an exact report', async () => {
    await using test = await startReported();
    const { staging, leased, run } = test;
    await staging.remove(`${run}/rejected/`);
    await createReportStage({ staging, clock })(leased);
    const report = JSON.parse(await textOf(staging, stagingKeys.report(run, 'json'))) as ReportResult;
    expect(report.verdict).toBe('different');
    expect(report.summary).toContain('by day = by name');
  });

  it('writes nothing once the run is paused', async () => {
    await using test = await startReported();
    const { staging, leased, run, db, lose } = test;
    await pauseRun(db, run);
    lose();
    await expect(createReportStage({ staging, clock })(leased)).rejects.toThrow(/abort/i);
    expect(await staging.list(`${run}/report`)).toEqual([]);
  });
});

async function bothForms(staging: Staging, run: string): Promise<readonly string[]> {
  return [
    await textOf(staging, stagingKeys.report(run, 'json')),
    await textOf(staging, stagingKeys.report(run, 'html')),
  ];
}

async function textOf(staging: Staging, key: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Creates a leased run with all results of the earlier stages. */
async function startReported() {
  await using cleanup = new AsyncDisposableStack();
  const { db } = cleanup.use(await tempMetadata());
  const dir = await mkdtemp(join(tmpdir(), 'millrace-report-'));
  cleanup.defer(() => rm(dir, { recursive: true, force: true }));
  const staging = await openStaging(dir);
  const sources = exactSources({ days: 3, names: 4 });
  const { options } = sources.run;
  const { id: run } = await createRun(db, { projectId: 1, configId: 2, source: 'files', options, now: clock.now() });
  await db.updateTable('import_runs').set({ stage: 'report' }).where('id', '=', run).execute();
  const claim = await claimRun(db, clock.now(), 60_000);
  if (claim === undefined) throw new Error('expected a run to be claimed');
  const lost = new AbortController();
  const leased = createRunWriter({ db, clock, signal: lost.signal }, claim);
  await fill(leased, staging, sources);
  const owned = cleanup.move();
  return { staging, leased, run, db, lose: () => lost.abort(), [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function fill(leased: LeasedRun, staging: Staging, sources: ReturnType<typeof exactSources>): Promise<void> {
  const { id } = leased.run;
  await leased.addParts(sources.parts.map(({ key, stable }) => ({ key, stable })));
  for (const { seq, segments, complete, faults, checked } of sources.parts) {
    await leased.savePart(seq, { segments, complete, faults, checked });
  }
  for (const { day, ...state } of sources.days) {
    await leased.saveDay(day, state);
    if (state.rejected === 0) continue;
    await staging.write(stagingKeys.rejected(id, `load-${day}-0`), [zstdCompressSync(refusedEvent(day))]);
  }
  await staging.write(stagingKeys.check(id), [Buffer.from(JSON.stringify(sources.check))]);
  await staging.write(stagingKeys.verify(id), [Buffer.from(JSON.stringify(sources.verify))]);
}

function refusedEvent(day: string): string {
  const event = { event: '$pageview', uuid: 'a', distinct_id: 'b', timestamp: `${day}T00:00:00.000000Z` };
  const original = JSON.stringify(event);
  const record: RejectedRecord = { part: '', line: 0, stage: 'load', code: 'x', reason: 'y', original };
  return `${JSON.stringify(record)}\n`;
}
