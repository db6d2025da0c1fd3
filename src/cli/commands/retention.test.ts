import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayMicros, insertRows, testRow } from '../../../test/conformance/event-store/event-store.ts';
import { startTestApp, type TestApp } from '../../../test/support/app.ts';
import { tempChdb, type TempChdb } from '../../../test/support/chdb.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { retentionRoutes } from '../../server/api/retention.ts';
import { loadSettings } from '../../server/config/load.ts';
import { serviceRetentionOf } from '../../server/service/service-retention.ts';
import type { RetentionPreview, RetentionRecord } from '../../wire/contract/retention.ts';
import { exitCodes } from '../exit-codes.ts';

let app: TestApp;
let chdb: TempChdb;
let service: string[];
const hostile = "a=b 鞋 'x'";

beforeAll(async () => {
  chdb = await tempChdb();
  const serviceRetention = serviceRetentionOf(loadSettings({ env: {} }).settings);
  app = await startTestApp((db, { clock }) => retentionRoutes({ db, clock, store: chdb.store, serviceRetention }));
  await app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.app.server.address() as AddressInfo;
  service = ['--url', `http://127.0.0.1:${port}`, '--api-key', await app.key(), '--project', String(app.project.id)];
  const today = Math.floor(app.clock.now() / 86_400_000);
  const rows = [10, 40, 400].map((daysOld) => {
    const keyDay = today - daysOld;
    return testRow(app.project.id, { keyDay, timestampMicros: keyDay * dayMicros, event: hostile });
  });
  await insertRows(chdb.store, 'retention-command', rows);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await chdb.close();
});

const run = (...args: string[]): Promise<Finished> => runCommand([...args, ...service]);

it('previews changes to the policy, and sets it only after a confirmation', async () => {
  const preview = await run('retention', 'preview', '--live-days', '30');
  expect([preview.code, preview.stdout.split('\n').length]).toEqual([0, 4]);
  expect(preview.stderr).toContain('2 events in all');
  const json = await run('retention', 'preview', '--event', `${hostile}=365/forever`, '--json');
  expect(JSON.parse(json.stdout) as RetentionPreview).toMatchObject({ events: 1, newly_expired: 1 });

  const refused = await run('retention', 'set', '--live-days', '30');
  expect(refused.code).toBe(exitCodes.usage.code);
  expect(refused.stderr).toContain('This policy removes 2 events');
  expect(refused.stderr).toContain('--yes');
  const set = await run(
    'retention',
    'set',
    '--live-days',
    '30',
    '--event',
    `${hostile}=365/forever`,
    '--yes',
    '--json',
  );
  expect(JSON.parse(set.stdout) as RetentionRecord).toMatchObject({
    live_days: 30,
    historical_days: null,
    events: [{ event: hostile, live_days: 365, historical_days: null }],
  });
  const shown = await run('retention', 'show');
  expect(shown.stdout).toMatch(/a=b 鞋 'x' +365 days +forever/);
  expect(shown.stdout).toMatch(/dead letters +365 days/);
});

it('options change only what they name; keeping more needs no confirmation', async () => {
  await run('retention', 'set', '--live-days', '30', '--event', 'other=5', '--yes');
  const set = await run('retention', 'set', '--live-days', 'forever', '--without-event', 'other', '--json');
  expect(set.code).toBe(0);
  const record = JSON.parse(set.stdout) as RetentionRecord;
  expect(record.live_days).toBeNull();
  expect(record.events.map(({ event }) => event)).not.toContain('other');
});

it.each([
  [['--live-days', '0'], '--live-days: expected days from 1 to 36500 or "forever", got: 0'],
  [['--historical-days', 'x'], '--historical-days: expected days from 1 to 36500'],
  [['--event', 'name'], '--event: expected NAME=DAYS, got: name'],
  [['--event', 'name=1/2/3'], '--event: expected NAME=LIVE/HISTORICAL'],
  [['--event', 'name='], '--event: expected days'],
  [['--without-event', 'never'], '--without-event: the policy has no days for never'],
])('%j is refused', async (options, message) => {
  const refused = await run('retention', 'set', ...options);
  expect(refused.code).toBe(exitCodes.usage.code);
  expect(refused.stderr).toContain(message);
});
