import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { claimRun, completeRun } from '../../imports/run/claim-run.ts';
import { stagingKeys } from '../../imports/staging.ts';
import { exitCodes } from '../exit-codes.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { startImportsApp, type ImportsApp } from '../../../test/support/imports-app.ts';

let chdb: TempChdb;
let server: ImportsApp;
let env: Record<string, string>;
beforeAll(async () => {
  chdb = await tempChdb();
  server = await startImportsApp({ store: chdb.store });
  await server.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = server.app.app.server.address() as AddressInfo;
  env = { MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_API_KEY: await server.app.key() };
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await chdb.close();
});

const run = (...args: readonly string[]): Promise<Finished> => runCommand(['import', ...args], { env });

/** As a worker does: takes the run that is due and ends it. */
async function end(id: string): Promise<void> {
  const { db, clock } = server.app;
  const claim = await claimRun(db, clock.now(), 60_000, { onlyRun: id });
  if (claim === undefined) throw new Error('expected a run to be claimed');
  await completeRun(db, claim, clock.now());
}

async function completed(): Promise<{ config: string; id: string }> {
  const config = String(await server.config());
  const started = await run('start', '--config', config, '--trial', '--json');
  const { id } = JSON.parse(started.stdout) as { id: string };
  await end(id);
  const properties = JSON.stringify({ $import_run_id: id });
  const rows = ['a', 'b'].map((distinctId) =>
    testRow(server.app.project.id, { event: 'paid', distinctId, properties }),
  );
  await insertRows(chdb.store, `cli-${id}`, rows);
  return { config, id };
}

describe('millrace import undo', () => {
  it('with --dry-run shows counts and changes nothing', async () => {
    const { config, id } = await completed();
    const shown = await run('undo', id, '--config', config, '--dry-run');
    expect(shown.code).toBe(0);
    expect(shown.stdout).toMatch(/events +2/);
    expect(shown.stdout).toMatch(/2 +paid/);
    const json = await run('undo', '--run', id, '--config', config, '--dry-run', '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({ events: 2, by_name: { paid: 2 }, exceptions: [] });
    expect((await run('list', '--config', config)).stdout).toContain('completed');
  });

  it('asks before it undoes anything, and follows the undo to its end', async () => {
    const { config, id } = await completed();
    const asked = await run('undo', id, '--config', config);
    expect([asked.code, asked.stderr]).toEqual([exitCodes.usage.code, expect.stringContaining('Add --yes')]);
    const undone = run('undo', id, '--config', config, '--yes');
    const stateOf = async () =>
      (await server.app.db.selectFrom('import_runs').select('state').where('id', '=', id).executeTakeFirst())?.state;
    while ((await stateOf()) !== 'queued') await delay(10);
    await end(id);
    const { code, stdout } = await undone;
    expect([code, stdout]).toEqual([0, expect.stringContaining(`run ${id} is undone`)]);
    const late = await run('undo', id, '--config', config, '--yes');
    expect([late.code, late.stderr]).toEqual([exitCodes.failed.code, expect.stringContaining('undone')]);
  });

  it('start --replace asks first, --dry-run does not, and both pass it to the server', async () => {
    const { config, id } = await completed();
    const asked = await run('start', '--config', config, '--replace', id);
    expect([asked.code, asked.stderr]).toEqual([exitCodes.usage.code, expect.stringContaining(`Undo ${id}`)]);
    const started = await run('start', '--config', config, '--replace', id, '--yes', '--json');
    const begun = JSON.parse(started.stdout) as { id: string; stages: number };
    expect(begun.stages).toBe(6);
    await run('cancel', '--config', config, '--run', begun.id, '--yes');
    const dry = run('start', '--config', config, '--replace', '--dry-run', '--json');
    const queued = async () =>
      server.app.db.selectFrom('import_runs').selectAll().where('state', '=', 'queued').executeTakeFirst();
    while ((await queued()) === undefined) await delay(10);
    const { id: checked, options } = (await queued()) ?? { id: '', options: '{}' };
    expect(JSON.parse(options)).toMatchObject({ replace: true, last: 'check' });
    const plan = { events: 2, rows: 2, by_name: { paid: 2 }, by_day: {}, distinct_ids: 2, persons: 1, groups: 0 };
    const replaces = [{ run: id, plan: { ...plan, group_types: [], other_runs: [], exceptions: [] } }];
    const check = { verdict: 'passed', problems: [], warnings: [], replaces };
    await server.staging.write(stagingKeys.check(checked), [Buffer.from(JSON.stringify(check))]);
    await end(checked);
    expect((await dry).stdout).toContain(`"replaces":[{"run":"${id}"`);
    const alone = await run('start', '--config', config, '--dry-run');
    expect([alone.code, alone.stderr]).toEqual([exitCodes.usage.code, expect.stringContaining('--replace')]);
  });

  it('start --undo is only for trials', async () => {
    const config = String(await server.config());
    const refused = await run('start', '--config', config, '--undo');
    expect([refused.code, refused.stderr]).toEqual([exitCodes.usage.code, expect.stringContaining('--trial')]);
  });
});
