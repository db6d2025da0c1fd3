import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { shopEvents } from '../../../test/support/planned-events.ts';
import { storeEvents } from '../../../test/support/prove-plan.ts';
import { addViolations } from '../../pipeline/violation-tally.ts';
import { isoMicros } from '../../base/clock.ts';
import { hourMs } from '../../base/time.ts';
import { trackingPlanLearnRoutes } from '../../server/api/tracking-plan-learn.ts';
import { trackingPlanRoutes } from '../../server/api/tracking-plan.ts';
import { exitCodes } from '../exit-codes.ts';

let app: TestApp;
let chdb: TempChdb;
let folder: string;
let service: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-plan-'));
  chdb = await tempChdb();
  app = await startTestApp((db, { clock }) => {
    const deps = { db, clock, store: chdb.store };
    return [...trackingPlanRoutes(deps), ...trackingPlanLearnRoutes(deps)];
  });
  await app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.app.server.address() as AddressInfo;
  service = ['--url', `http://127.0.0.1:${port}`, '--api-key', await app.key(), '--project', String(app.project.id)];
  await storeEvents(chdb.store, app.project.id, shopEvents(1, 500));
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await chdb.close();
  await rm(folder, { recursive: true });
});

const plan = (...args: string[]): Promise<Finished> => runCommand(['plan', ...args, ...service]);
async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

it('learns a draft into a file, saves it after showing what changes, and exports the same', async () => {
  expect((await plan('show')).stdout).toContain('no tracking plan');
  const path = join(folder, 'draft.json');
  const learned = await plan('learn', '--out', path);
  expect(learned.stdout).toMatch(/read \d+ of \d+ events/);
  expect(learned.stdout).toContain('+ Order Completed');
  expect(learned.stdout).toMatch(/signed_up +plan +100 % +string +free, pro, team/);
  const dry = await plan('save', path, '--dry-run');
  expect([dry.code, dry.stdout.includes('+ Order Completed'), (await plan('show')).stdout]).toEqual([
    0,
    true,
    expect.stringContaining('no tracking plan'),
  ]);
  expect((await plan('save', path)).stderr).toContain('saved version 1');
  expect((await plan('save', path)).stderr).toContain('unchanged');
  const shown = await plan('show');
  expect(shown.stdout).toContain('version 1; violations: warn, unplanned events: warn');
  expect(shown.stdout).toMatch(/Order Completed +6 +/);
  expect((await plan('export')).stdout).toBe(await readFile(path, 'utf8'));
});

it('keeps every digit, and refuses an invalid file with the place of every fault', async () => {
  const digits = '{"events":[{"name":"n","schema":{"properties":{"id":{"enum":[12345678901234567890]}}}}]}';
  await plan('save', await file('digits.json', digits));
  expect((await plan('export')).stdout).toContain('12345678901234567890');
  const wrong = await plan('save', await file('wrong.json', '{"policy":"block","events":[{"name":""}]}'));
  expect(wrong.code).toBe(exitCodes.invalidConfig.code);
  expect(wrong.stderr).toContain('policy: expected warn, drop, dead_letter, got: "block"');
  expect(wrong.stderr).toContain('events.0.name: expected the name of an event');
  expect((await plan('save', await file('text.json', 'events: []'))).code).toBe(exitCodes.invalidConfig.code);
});

it('tests events, one result for each that violates the plan, with an exit code for scripts', async () => {
  const rules = { events: [{ name: 'paid', policy: 'drop', schema: { required: ['price'] } }] };
  await plan('save', await file('paid.json', JSON.stringify(rules)));
  const good = '{"event":"paid","properties":{"price":1}}';
  const tested = await plan('test', await file('events.ndjson', `${good}\n\n{"event":"paid"}\n`));
  expect(tested.code).toBe(exitCodes.rejected.code);
  expect(tested.stdout).toMatch(/2: paid +drop +price +required +expected a value, got: none/);
  expect(tested.stderr).toContain('1 of 2 events violate the tracking plan');
  expect((await plan('test', await file('good.ndjson', good))).code).toBe(0);
  const wrong = await plan('test', await file('wrong.ndjson', `${good}\n[1]\n`));
  expect([wrong.code, wrong.stderr]).toEqual([
    exitCodes.usage.code,
    expect.stringContaining('line 2: expected an event'),
  ]);
});

it('lists violations with samples', async () => {
  const now = app.clock.now();
  const hour = isoMicros(Math.floor(now / hourMs) * hourMs);
  const sample = { detail: 'expected number, got: "\u001b[31m"' };
  const row = { projectId: app.project.id, hour, event: 'paid', property: 'price', rule: 'type', count: 7 };
  await addViolations(app.db, [{ ...row, lastSeen: isoMicros(now), samples: [sample] }]);
  const { stdout } = await plan('violations');
  expect(stdout).toMatch(/paid +price +type +7 /);
  expect(stdout).not.toContain('\u001b');
  expect((await plan('violations', '--event', 'other')).stdout).not.toContain('paid');
});

it('restores an earlier version, and removes the plan only after a confirmation', async () => {
  const { stdout } = await plan('versions');
  expect(stdout).toMatch(/1 +4 +/);
  expect((await plan('restore', '1')).stdout).toContain('+ Order Completed');
  expect((await plan('remove')).code).toBe(exitCodes.usage.code);
  expect((await plan('remove', '--yes')).code).toBe(0);
  expect((await plan('show')).stdout).toContain('no tracking plan');
  expect((await plan('versions')).stdout).toContain('removed');
});
