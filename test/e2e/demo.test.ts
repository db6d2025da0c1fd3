/** Real: the whole program as a process, SQLite, chDB, files, HTTP. Doubled: nothing. Observed: what the commands print and the API returns. */
import type { ChildProcess } from 'node:child_process';
import { expect, it } from 'vitest';
import type { DemoRecord } from '../../src/cli/commands/demo.ts';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { spawnCommand, type Finished, type SpawnOptions } from '../support/command.ts';
import { apiGet, personalKey, startServer, tempDataDir } from '../support/server.ts';

/** Limits what hangs, not what is slow. */
const wait = { timeout: 300_000 };

it('the demo fills a project once, and leaves nothing when it is removed, also after an interruption', async () => {
  await using dataDir = await tempDataDir();
  const server = await startServer(dataDir.path);
  const env = { MILLRACE_URL: server.url, MILLRACE_API_KEY: personalKey };
  const demo = (args: string, options: SpawnOptions = {}): Promise<Finished> =>
    spawnCommand(['demo', ...args.split(' ')], { ...options, env });
  const list = async <T>(path: string): Promise<readonly T[]> =>
    (await apiGet<{ results: readonly T[] }>(server, path)).results;
  const projects = async (): Promise<readonly string[]> =>
    (await list<{ name: string }>('/api/projects/')).map(({ name }) => name);
  const before = await projects();

  let child: ChildProcess | undefined;
  const interrupted = demo('--persons 40', { onStart: (started) => (child = started) });
  await expect.poll(projects, wait).toContain('Demo shop');
  child?.kill('SIGINT');
  expect((await interrupted).code).toBe(exitCodes.interrupted.code);
  expect(await demo('--remove --yes')).toMatchObject({ code: 0 });
  expect(await projects()).toEqual(before);

  const interruptedImport = demo('--persons 40', { onStart: (started) => (child = started) });
  const runs = async (): Promise<readonly unknown[]> => {
    const shop = (await list<{ id: number; name: string }>('/api/projects/')).find(({ name }) => name === 'Demo shop');
    return shop === undefined ? [] : list(`/api/projects/${shop.id}/import_runs/`);
  };
  await expect.poll(runs, wait).toHaveLength(1);
  child?.kill('SIGINT');
  expect((await interruptedImport).code).toBe(exitCodes.interrupted.code);

  const made = await demo('--persons 40 --json');
  expect(made).toMatchObject({ code: 0 });
  const record = JSON.parse(made.stdout) as DemoRecord;
  expect(record).toMatchObject({
    project: { name: 'Demo shop' },
    import: { state: 'completed', totals: { rejected: expect.any(Number) as number } },
    transformations: ['Amounts in euros'],
    import_apps: ['Shop history', 'Nightly from Mixpanel'],
  });
  const totals = record.import.totals;
  expect(totals.rejected).toBeGreaterThan(0);
  expect(totals.verified).toBe(totals.loaded);
  expect(totals.verdict).toBe('exact');

  const root = `/api/projects/${record.project.id}`;
  await expect.poll(() => list(`${root}/events/?historical_migration=false`), wait).not.toEqual([]);
  await expect.poll(() => list(`${root}/persons/?limit=5`), wait).toHaveLength(5);
  await expect.poll(() => list(`${root}/groups/?group_type_index=0`), wait).not.toEqual([]);
  expect(await list(`${root}/events/?event=Order+Completed&limit=1`)).toMatchObject([
    { properties: { normalized_currency: 'EUR' } },
  ]);

  const again = await demo('--json');
  expect(again.code).toBe(0);
  expect(again.stderr).toContain('already had this demo');
  expect(JSON.parse(again.stdout)).toEqual(record);

  expect(await demo('--remove')).toMatchObject({ code: exitCodes.usage.code });
  expect(await demo('--remove --yes')).toMatchObject({ code: 0 });
  expect(await projects()).toEqual(before);
  expect(await demo('--remove --yes')).toMatchObject({ code: exitCodes.notFound.code });
});
