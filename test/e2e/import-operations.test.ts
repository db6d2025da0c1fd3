/**
 * Real: the whole program as a process, its process of imports, SQLite, chDB, files, HTTP. Doubled: nothing.
 * Observed: what an operator looks at: /metrics, /readyz, the run.
 */
import { expect, it } from 'vitest';
import { mixpanelRecords } from '../../src/imports/formats/mixpanel/records.fixture.ts';
import { createFilesConfig, expectExactRun, startImport, untilRun, writeRecords } from '../support/import-runs.ts';
import { startServer, tempDataDir, type TestServer } from '../support/server.ts';

async function metric(server: TestServer, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

it('a run without disk space waits and reports it, also in /metrics, and resumes when there is space', async () => {
  await using data = await tempDataDir();
  const records = [...mixpanelRecords(20_261_121, 2000)];
  await writeRecords(data.path, 'export.ndjson.gz', records);
  const full = await startServer(data.path, { MILLRACE_IMPORT_DISK_BUDGET: '1' });
  const config = await createFilesConfig(full, {
    paths: `${data.path}/import-files/export.ndjson.gz`,
    format: 'mixpanel',
  });
  // The preflight would refuse it: here the room goes while the run is on its way.
  const path = await startImport(full, config, { preflight: false });
  // Nothing is there when the export begins; what it has staged is too much for the check.
  const waiting = await untilRun(full, path, (run) => run.waiting !== null);
  expect(waiting).toMatchObject({ state: 'running', stage: 'check' });
  expect(waiting.waiting?.reason).toMatch(/MiB allowed; finish, cancel or remove other runs, or raise the disk budget/);
  expect(await metric(full, 'millrace_import_runs_waiting')).toBe(1);
  expect(await metric(full, 'millrace_import_runs{state="running"}')).toBe(1);
  // The thread of the imports tells its counts once in a while.
  const exported = (): Promise<number | undefined> => metric(full, 'millrace_import_records_total{stage="export"}');
  await expect.poll(exported).toBe(records.length);
  const stalled = (await metric(full, 'millrace_import_stalled_seconds')) ?? 0;
  await expect.poll(() => metric(full, 'millrace_import_stalled_seconds')).toBeGreaterThan(stalled + 1);
  const ready = (await (await fetch(`${full.url}/readyz?verbose`)).json()) as { checks: object };
  expect(ready.checks).toMatchObject({ imports: { ok: true, optional: true } });
  expect((await full.terminate()).code).toBe(0);

  const roomy = await startServer(data.path);
  const { run } = await expectExactRun(roomy, path);
  expect(run.totals).toMatchObject({ records: records.length, rejected: 0 });
  expect(await metric(roomy, 'millrace_import_runs{state="completed"}')).toBe(1);
  expect(await metric(roomy, 'millrace_import_runs_waiting')).toBe(0);
  expect(await metric(roomy, 'millrace_import_stalled_seconds')).toBe(0);
});
