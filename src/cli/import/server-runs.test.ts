import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';
import { claimRun, completeRun, failRun } from '../../imports/run/claim-run.ts';
import { stagingKeys } from '../../imports/staging.ts';
import { exitCodes } from '../exit-codes.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';

let server: ImportsApp;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startImportsApp();
  await server.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.app.app.server.address() as AddressInfo;
  env = { MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_API_KEY: await server.app.key() };
});
afterAll(() => server[Symbol.asyncDispose]());

const run = (...args: readonly string[]): Promise<Finished> => runCommand(['import', ...args], { env });
const json = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
  const { stdout, stderr, code } = await run(...args, '--json');
  if (code !== 0) throw new Error(`import ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Record<string, unknown>;
};

describe("runs of a server's config", () => {
  it('are started with their options, paused, resumed and cancelled', async () => {
    const config = String(await server.config());
    const started = await json(
      'start',
      '--config',
      config,
      '--from-date',
      '2024-01-01',
      '--trial',
      '--rejected-max',
      '2%',
    );
    expect(started).toMatchObject({ state: 'queued', stage: 'export', stages: 5 });
    const { body } = await server.call('GET', `/pipeline_import_apps_configs/${config}/runs/${String(started['id'])}/`);
    expect(body['options']).toMatchObject({
      from: '2024-01-01T00:00:00.000Z',
      limit: 1000,
      rejected_max: 0.02,
      last: 'report',
    });
    expect(await json('pause', '--config', config)).toMatchObject({ state: 'paused', id: started['id'] });
    expect(await json('resume', '--config', config, '--speed', '7')).toMatchObject({ state: 'queued' });
    expect((await run('list', '--config', config)).stdout).toContain(String(started['id']));
    expect((await run('cancel', '--config', config)).stderr).toContain('Add --yes');
    expect(await json('cancel', '--config', config, '--yes')).toMatchObject({ state: 'cancelled' });
    const late = await run('pause', '--config', config);
    expect([late.code, late.stderr]).toEqual([exitCodes.failed.code, expect.stringContaining('cancelled')]);
  });

  it('are followed to their end, which gives the exit code', async () => {
    const config = String(await server.config());
    const { db, clock } = server.app;
    const followed = run('check', '--config', config, '--json');
    let claim: Awaited<ReturnType<typeof claimRun>>;
    while (claim === undefined) {
      await sleep(20);
      claim = await claimRun(db, clock.now(), 60_000);
    }
    const check = { verdict: 'failed', problems: ['nothing came.'] };
    await server.staging.write(stagingKeys.check(claim.run.id), [Buffer.from(JSON.stringify(check))]);
    await completeRun(db, claim, clock.now());
    const { code, stdout, stderr } = await followed;
    expect([code, stderr]).toEqual([exitCodes.failed.code, expect.stringContaining('nothing came.')]);
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as object;
    expect(last).toMatchObject({ type: 'result', state: 'completed', stages: 2, check: { verdict: 'failed' } });
  });

  it('that failed report why, and how to resume', async () => {
    const config = String(await server.config());
    const { db, clock } = server.app;
    await json('start', '--config', config);
    const claim = await claimRun(db, clock.now(), 60_000);
    if (claim === undefined) throw new Error('expected a run to claim');
    await failRun(db, claim, 'the source does not know the key', clock.now());
    const { code, stderr } = await run('watch', '--config', config);
    expect(code).toBe(exitCodes.failed.code);
    expect(stderr).toContain(
      'the source does not know the key (in the export stage; "millrace import resume" resumes it)',
    );
    const report = await run('report', '--config', config, '--json');
    expect(JSON.parse(report.stdout)).toMatchObject({ verdict: 'unfinished' });
    expect((await run('report', '--config', config, '--html')).stdout).toContain('<html');
    expect(await run('rejected', '--config', config)).toMatchObject({ code: 0, stdout: '' });
    expect((await run('verify', '--config', config)).code).toBe(exitCodes.notFound.code);
  });

  it.each<[string, readonly string[], number, string]>([
    ['a config that is not there', ['list', '--config', '999'], exitCodes.notFound.code, 'Not found'],
    ['a config without runs', ['watch', '--config', 'NEW'], exitCodes.notFound.code, 'has no run yet'],
    ['start without a config', ['start'], exitCodes.usage.code, 'expected --config'],
    ['a check of nothing', ['check'], exitCodes.usage.code, 'expected a format and paths, or --config'],
  ])('%s', async (_name, args, code, message) => {
    const config = String(await server.config());
    const finished = await run(...args.map((arg) => (arg === 'NEW' ? config : arg)));
    expect([finished.code, finished.stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});
