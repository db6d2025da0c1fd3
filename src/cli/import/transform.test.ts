import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, describe, it } from 'vitest';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { linesOf, mixpanelLines, newImport, numbersOf, resultOf } from '../../../test/support/import-command.ts';
import type { CheckResult } from '../../imports/run/results.ts';
import type { ReportResult } from '../../imports/stages/report/report.ts';
import { exitCodes } from '../exit-codes.ts';

const lines = mixpanelLines(300);

interface PreflightLine {
  readonly findings: readonly { readonly check: string; readonly level: string; readonly message: string }[];
}

const priceIn = (properties: unknown): number => (properties as { readonly price: number }).price;

describe('code that changes what a command imports', () => {
  it('its events are sent and the report adds up; the same code is the same import, other code is another one', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const file = join(made.dir, 'orders.ts');
    const code = `export function processEvent(event: { event: string, properties: Record<string, number> }) {
      if (event.properties.n % 3 === 0) return null
      event.event = 'Order ' + event.properties.n % 7
      return event
    }`;
    await writeFile(file, code);
    const report = join(made.dir, 'report.json');
    const done = await made.start(endpoint.url, ['--transform', file, '--report', report]);
    expect([done.code, done.stderr]).toEqual([exitCodes.unverified.code, expect.stringContaining('starts')]);
    expect(numbersOf(endpoint.kept)).toHaveLength(200);
    expect(endpoint.kept.filter(({ event }) => !String(event).startsWith('Order '))).toEqual([]);
    const { balance, totals } = JSON.parse(await readFile(report, 'utf8')) as ReportResult;
    expect(balance.filter(({ holds }) => !holds)).toEqual([]);
    expect(totals.events).toMatchObject({ read: 300, left_out: 100, loaded: 200 });
    const again = await made.start(endpoint.url, ['--transform', file]);
    expect([again.stderr, resultOf(again).id]).toEqual([expect.stringContaining('is already done'), resultOf(done).id]);
    await writeFile(file, code.replace('Order ', 'Sale '));
    const other = await made.start(endpoint.url, ['--transform', file]);
    expect([other.code, other.stderr]).toEqual([
      exitCodes.failed.code,
      expect.stringContaining('300 of the same records'),
    ]);
    expect(numbersOf(endpoint.kept)).toHaveLength(200);
  });

  it('the check shows records with their transformed events, and sends nothing', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const file = join(made.dir, 'plan.js');
    await writeFile(file, 'exports.processEvent = (event) => { event.properties.plan = "pro"; return event }');
    const done = await made.start(endpoint.url, ['--transform', file, '--check', '--trial']);
    const { check } = resultOf(done) as unknown as { readonly check: CheckResult };
    expect([done.code, check.verdict, endpoint.kept]).toEqual([0, 'passed', []]);
    expect(check.samples[0]).toMatchObject({
      source: { event: 'Event 0' },
      events: [{ event: 'Event 0', properties: { plan: 'pro' } }],
    });
  });

  it('samples show every digit', async () => {
    const big = '12345678901234567890';
    await using made = await newImport([lines[0]?.replace('"n":0', `"n":${big}`) ?? '']);
    const file = join(made.dir, 'plan.js');
    await writeFile(file, 'exports.processEvent = (event) => { event.properties.plan = "pro"; return event }');
    const done = await made.start('http://127.0.0.1:1', ['--transform', file, '--check', '--no-preflight']);
    expect(done.stdout.split(`"n":${big}`)).toHaveLength(3);
  });

  it.each<[string, string, string]>([
    [
      'cannot be set up',
      'exports.setupPlugin = () => { throw new Error("no prices") }; exports.processEvent = (e) => e',
      'no prices',
    ],
    [
      'stores something',
      'exports.processEvent = async (e, { storage }) => { await storage.set("k", 1); return e }',
      'storage.set',
    ],
    [
      'captures events',
      'exports.processEvent = async (e) => { await posthog.capture("x"); return e }',
      'posthog.capture',
    ],
    ['throws at every event', 'exports.processEvent = (e) => e.properties.a.b', '100 of the first 100 events fail: '],
    [
      'makes other events every time',
      'exports.processEvent = (e) => { e.distinct_id += Math.random(); return e }',
      'something else for the same event',
    ],
  ])('that %s is found before anything is fetched', async (_name, code, message) => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const file = join(made.dir, 'wrong.js');
    await writeFile(file, code);
    const done = await made.start(endpoint.url, ['--transform', file]);
    const found = linesOf(done).find(({ type }) => type === 'preflight') as unknown as PreflightLine;
    expect(found.findings.filter(({ check }) => check === 'transform')).toEqual([
      expect.objectContaining({ level: 'problem', message: expect.stringContaining(message) as string }),
    ]);
    expect([done.code, endpoint.kept]).toEqual([exitCodes.preflight.code, []]);
    expect((await readdir(made.state)).filter((name) => /^[0-9a-f]{16}/.test(name))).toEqual([]);
  });

  it('that cannot be compiled is reported with its line, before anything is read', async () => {
    await using made = await newImport(lines);
    const file = join(made.dir, 'broken.ts');
    await writeFile(file, 'export function processEvent(event {\n  return event\n}\n');
    const done = await made.start('http://127.0.0.1:1', ['--transform', file]);
    expect(done).toMatchObject({ code: exitCodes.failed.code, stdout: '' });
    expect(done.stderr).toContain('broken.ts:1');
  });

  it('its secret is in no message and no file of the import', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const folder = join(made.dir, 'plugin');
    await mkdir(folder);
    const config = [{ key: 'token', name: 'Token', type: 'string', secret: true, required: true }];
    await writeFile(join(folder, 'plugin.json'), JSON.stringify({ name: 'Priced', config }));
    const code = `exports.processEvent = (event, { config }) => {
      if (event.properties.n === 5) throw new Error('refused: ' + config.token)
      return event
    }`;
    await writeFile(join(folder, 'index.js'), code);
    const args = ['--transform', folder, '--transform-setting', 'token=s3cret-token', '--rejected-max', '1%'];
    const done = await made.start(endpoint.url, args);
    expect(done.code).toBe(exitCodes.rejected.code);
    expect(endpoint.kept).toHaveLength(299);
    const [id = ''] = await readdir(made.state);
    const description = await readFile(join(made.state, id, 'import.json'), 'utf8');
    expect(description).toContain('token=…');
    expect(`${done.stdout}${done.stderr}${description}`).not.toContain('s3cret');
    const missing = await made.start(endpoint.url, ['--transform', folder]);
    expect([missing.code, missing.stdout]).toEqual([
      exitCodes.preflight.code,
      expect.stringContaining('Expected the settings token'),
    ]);
  });

  it('a table that it needs is given as a settings file', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const folder = join(made.dir, 'plugin');
    await mkdir(folder);
    const config = [{ key: 'prices', name: 'Prices', type: 'attachment', required: true }];
    await writeFile(join(folder, 'plugin.json'), JSON.stringify({ name: 'Priced', config }));
    const code = `let prices
      exports.setupPlugin = ({ attachments }) => { prices = JSON.parse(attachments.prices.contents.toString()) }
      exports.processEvent = (event) => { event.properties.price = prices[event.event] ?? 0; return event }`;
    await writeFile(join(folder, 'index.js'), code);
    const table = join(made.dir, 'prices.json');
    await writeFile(table, '{"Event 3": 7}\n');
    await made.start(endpoint.url, ['--transform', folder, '--transform-setting', `prices=@${table}`]);
    const prices = new Set(endpoint.kept.map(({ event, properties }) => `${String(event)}: ${priceIn(properties)}`));
    expect(prices).toContain('Event 3: 7');
    expect(prices).toContain('Event 4: 0');
    const missing = await made.start(endpoint.url, ['--transform', folder]);
    expect(missing.stdout).toContain('Expected the settings prices of the transform');
  });

  it('a built-in transformation is named by its slug', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport(lines);
    const done = await made.start(
      endpoint.url,
      ['--transform', 'drop-events', '--transform-setting'].concat('events=Event 1', '--check'),
    );
    const { check } = resultOf(done) as unknown as { readonly check: CheckResult };
    expect(check.events.map(({ event }) => event)).not.toContain('Event 1');
    const unknown = await made.start(endpoint.url, ['--transform', 'no-such-thing', '--check']);
    expect([unknown.code, unknown.stderr]).toEqual([
      exitCodes.usage.code,
      expect.stringContaining('--transform: expected'),
    ]);
  });
});
