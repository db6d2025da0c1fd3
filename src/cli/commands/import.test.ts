import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import {
  count,
  linesOf,
  mixpanelLines,
  newImport,
  numbersOf,
  resultOf,
  storedNumbers,
  upTo,
  uuidsOf,
} from '../../../test/support/import-command.ts';
import { startEndpoint, type Behaviour } from '../../../test/support/capture-endpoint.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';

// Concurrent: most of the time is spent in processes that start, and in waits for a service that said no.
describe.concurrent('millrace import', () => {
  it('imports every record once, oldest first, marked as history; the same command again reports that it is done', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport();
    const report = join(made.dir, 'report.html');
    const first = await made.start(endpoint.url, ['--report', report]);
    expect([first.code, first.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('starts')]);
    expect(resultOf(first)).toMatchObject({
      state: 'completed',
      totals: { records: count, events: count, loaded: count, rejected: 0, duplicates: 0 },
    });
    expect(new Set(linesOf(first).map(({ type }) => type))).toEqual(new Set(['preflight', 'progress', 'result']));
    expect(endpoint.batches.every((each) => each.historical_migration === true)).toBe(true);
    expect(new Set(uuidsOf(endpoint.kept)).size).toBe(count);
    expect(numbersOf(endpoint.kept).toSorted((a, b) => a - b)).toEqual(upTo(count));
    const days = endpoint.kept.map((event) => String(event['timestamp']).slice(0, 10));
    expect(days).toEqual(days.toSorted());
    expect(await readFile(report, 'utf8')).toContain('<html');

    const again = await made.start(endpoint.url);
    expect(again.stderr).toContain('is already done; --again starts a new one');
    expect(again.code).toBe(exitCodes.unverified.code);
    expect(endpoint.kept).toHaveLength(count);
  });

  it.each<[string, Behaviour]>([
    [
      '429 and 503',
      (_batch, attempt) =>
        attempt % 3 === 1 ? { status: attempt % 2 ? 429 : 503, headers: { 'retry-after': '0' } } : 'keep',
    ],
    ['answers lost after storing', (_batch, attempt) => (attempt % 3 === 1 ? { status: 502, keep: true } : 'keep')],
    ['connections that break', (_batch, attempt) => (attempt % 4 === 1 ? 'reset' : 'keep')],
    ['413 for more than 300 events', ({ batch }) => (batch.length > 300 ? { status: 413 } : 'keep')],
  ])('%s is not lost', async (_name, behave) => {
    await using endpoint = await startEndpoint(behave);
    await using made = await newImport();
    const { code } = await made.start(endpoint.url);
    expect(code).toBe(exitCodes.unverified.code);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(count));
  });

  it('--check sends nothing and reports problems; the same command without it continues', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport([...mixpanelLines(100), 'not json', '{"event":"x"}']);
    const check = await made.start(endpoint.url, ['--check']);
    expect(check.code).toBe(exitCodes.failed.code);
    expect(resultOf(check)).toMatchObject({ check: { verdict: 'failed', totals: { records: 102, rejected: 2 } } });
    expect(endpoint.batches).toEqual([]);
    const refused = await made.start(endpoint.url);
    expect(refused.code).toBe(exitCodes.failed.code);
    expect(endpoint.batches).toEqual([]);
    const rejected = join(made.dir, 'rejected.ndjson');
    const loaded = await made.start(endpoint.url, ['--rejected-max', '5%', '--rejected', rejected]);
    expect(loaded.code).toBe(exitCodes.rejected.code);
    expect(numbersOf(endpoint.kept).toSorted((a, b) => a - b)).toEqual(upTo(100));
    const lines = (await readFile(rejected, 'utf8')).trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { line: number }).line)).toEqual([101, 102]);
  });

  it('a wrong key ends it with the message of the service; the key is nowhere on disk', async () => {
    await using endpoint = await startEndpoint(() => ({ status: 401, body: { detail: 'no such project key' } }));
    await using made = await newImport(mixpanelLines(10));
    const { code, stderr } = await made.start(endpoint.url);
    expect([code, stderr]).toEqual([exitCodes.failed.code, expect.stringContaining('no such project key')]);
    const [id = ''] = await readdir(made.state);
    const files = ['import.json', 'metadata.sqlite', 'metadata.sqlite-wal'];
    const texts = await Promise.all(
      files.map((name) => readFile(join(made.state, id, name), 'latin1').catch(() => '')),
    );
    expect(texts.join('')).not.toContain('phc_test');
    expect(texts[0]).toContain('"format": "mixpanel"');
  });

  it('list, report, verify, rejected, pause and resume act on local imports', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(mixpanelLines(50));
    const { id } = resultOf(await made.start(endpoint.url));
    const on = (...args: string[]): Promise<Finished> => runCommand(['import', ...args, '--state-dir', made.state]);
    const [list, report, page, rejected, verify, pause, resume, watch] = await Promise.all([
      on('list'),
      on('report', '--json'),
      on('report', id.slice(0, 6), '--html'),
      on('rejected'),
      on('verify'),
      on('pause'),
      on('resume'),
      on('watch', '--run', 'ffff'),
    ]);
    expect(list.stdout).toContain(id);
    expect(JSON.parse(report.stdout)).toMatchObject({ run: { id }, totals: { events: { loaded: 50 } } });
    expect(page.stdout).toContain('<html');
    expect(rejected).toMatchObject({ code: 0, stdout: '' });
    expect(verify.stdout).toContain('unreadable');
    expect(pause).toMatchObject({ code: 1, stderr: expect.stringContaining('"pause"') as string });
    expect([resume.code, resume.stderr]).toEqual([2, expect.stringContaining(`millrace import mixpanel ${made.file}`)]);
    expect(watch.code).toBe(exitCodes.notFound.code);
    const restarted = await made.start(endpoint.url, ['--again']);
    expect(resultOf(restarted).id).not.toBe(id);
  });

  it('every name in the JSON of a check, a report and a list is snake_case', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport([...mixpanelLines(20), 'not json']);
    const check = await made.start(endpoint.url, ['--check']);
    const done = await made.start(endpoint.url, ['--rejected-max', '10%']);
    const on = (...args: string[]): Promise<Finished> => runCommand(['import', ...args, '--state-dir', made.state]);
    const shown = [
      await on('report', '--json'),
      await on('verify', '--json'),
      await on('list', '--output', 'json'),
      await runCommand(['config', 'show', '--json']),
    ];
    const values = [resultOf(check), resultOf(done), ...shown.map(({ stdout }) => JSON.parse(stdout) as unknown)];
    expect(values.flatMap(camelNames)).toEqual([]);
  });

  it('plan shows what would be fetched, and sends nothing', async () => {
    await using made = await newImport();
    const { stdout, code } = await runCommand(['import', 'plan', 'mixpanel', made.file, '--speed', '100', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      sampled_records: count,
      estimated_events: count,
      estimated_seconds: 50,
    });
  });
});

/** Names like `firstTime`, at any depth. Those of data have none here. */
function camelNames(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    (/^[a-z]\w*[A-Z]/.test(name) ? [name] : []).concat(camelNames(each)),
  );
}
