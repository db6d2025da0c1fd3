import { reportFailure } from './report.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { findAnyConfig, type StoredConfig } from '../../plugins/configs/stored-config.ts';
import { secretMask } from '../../plugins/fields.ts';
import { createLog } from '../../server/telemetry/log.ts';
import { AppInstances } from './app-instances.ts';
import {
  addApp,
  addProject,
  changeApp,
  errorOf,
  failuresOf,
  fakeSandbox,
  retryError,
  testClock,
} from '../../../test/support/jobs.ts';
import { thrownError, type FakePlugin, type TestClock } from '../../../test/support/jobs.ts';

// Real: SQLite and the following of configs. Doubled: the sandbox, because it has to fail on request.

let store: TempMetadata;
let projectId: number;
let clock: TestClock;
beforeEach(async () => {
  store = await tempMetadata();
  projectId = await addProject(store.db);
  clock = testClock();
});
afterEach(() => store[Symbol.asyncDispose]());

function startApps(plugin: FakePlugin = {}) {
  const sandbox = fakeSandbox(plugin);
  const apps = new AppInstances({ db: store.db, clock, log: createLog('silent'), ...sandbox });
  /** One round, and what it started. */
  const follow = async (): Promise<void> => {
    await apps.follow();
    for (let n = 0; n < 50; n += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { apps, follow, ...sandbox };
}

async function configOf(id: number): Promise<StoredConfig> {
  const config = await findAnyConfig(store.db, id, clock.now());
  if (config === undefined) throw new Error('expected the config to exist');
  return config;
}

const scheduled = { capabilities: { scheduled_tasks: ['runEveryMinute'] } };
const withJobs = { capabilities: { jobs: ['sync'] } };
const exporting = { capabilities: { methods: ['onEvent'] } };
const idle = { capabilities: { methods: ['processEvent'] } };

describe('instances of apps', () => {
  it('those with schedules or jobs are set up immediately, others on first use, the rest never', async () => {
    const eager = [await addApp(store.db, projectId, scheduled), await addApp(store.db, projectId, withJobs)];
    const lazy = await addApp(store.db, projectId, exporting);
    await addApp(store.db, projectId, idle);
    await addApp(store.db, projectId, { ...scheduled, enabled: false });
    const { apps, follow, opened, closed } = startApps();
    await follow();
    expect(opened.map(({ configId }) => configId)).toEqual(eager);
    expect(apps.scheduled().map(({ configId }) => configId)).toEqual([eager[0]]);
    const config = await configOf(lazy);
    expect(await apps.use(config, async () => 'used')).toBe('used');
    expect(await apps.use(config, async () => 'again')).toBe('again');
    expect(opened.map(({ configId }) => configId)).toEqual([...eager, lazy]);
    await apps.close();
    expect(closed.toSorted()).toEqual([...eager, lazy]);
  });

  it('they get the settings with defaults, the files, and a label that events can name', async () => {
    const fields = [
      { key: 'host', name: 'Host', type: 'string', required: true },
      { key: 'region', name: 'Region', type: 'string', default: 'eu' },
      { key: 'map', name: 'Map', type: 'attachment' },
    ] as const;
    const id = await addApp(store.db, projectId, { ...scheduled, fields, settings: { host: 'h' } });
    const file = { config_id: id, key: 'map', file_name: 'm.json', content_type: 'application/json', size: 2 };
    const content = Uint8Array.from([123, 125]);
    await store.db
      .insertInto('plugin_attachments')
      .values({ ...file, content })
      .execute();
    const { follow, opened } = startApps();
    await follow();
    expect(opened).toMatchObject([
      { configId: id, projectId, label: `App (${id})`, settings: { host: 'h', region: 'eu' }, pluginName: 'App' },
    ]);
    const { fileName, content: given } = opened[0]?.attachments.get('map') ?? {};
    expect([fileName, Buffer.from(given ?? []).toString()]).toEqual(['m.json', '{}']);
  });

  it('a change replaces the instance; disabling, binning and deleting remove it', async () => {
    const ids = [0, 1, 2, 3].map(() => addApp(store.db, projectId, scheduled));
    const [changed = 0, disabled = 0, binned = 0, deleted = 0] = await Promise.all(ids);
    const { apps, follow, opened, closed } = startApps();
    await follow();
    expect(opened).toHaveLength(4);
    clock.advance(1000);
    await changeApp(store.db, changed, { settings: '{"a":1}' }, clock.now());
    await changeApp(store.db, disabled, { enabled: 0 }, clock.now());
    await changeApp(store.db, binned, { deleted: 1 }, clock.now());
    await store.db.deleteFrom('plugin_configs').where('id', '=', deleted).execute();
    await follow();
    expect(closed.toSorted()).toEqual([changed, disabled, binned, deleted].toSorted());
    expect(opened.map(({ configId }) => configId).slice(4)).toEqual([changed]);
    expect(apps.scheduled().map(({ configId }) => configId)).toEqual([changed]);
  });

  it('a run in progress finishes on the old instance, which is torn down afterwards', async () => {
    const id = await addApp(store.db, projectId, withJobs);
    const { apps, follow, opened, closed } = startApps();
    await follow();
    const { promise: held, resolve: finish } = Promise.withResolvers<string>();
    const run = apps.use(await configOf(id), () => held);
    await follow();
    clock.advance(1000);
    await changeApp(store.db, id, { settings: '{"a":1}' }, clock.now());
    await follow();
    expect(opened).toHaveLength(2);
    expect(closed).toEqual([]);
    finish('done');
    expect(await run).toBe('done');
    await follow();
    expect(closed).toEqual([id]);
  });

  it('a changed config never runs on its old instance, even before the change is detected', async () => {
    const id = await addApp(store.db, projectId, withJobs);
    const { apps, follow, opened } = startApps();
    await follow();
    clock.advance(1000);
    await changeApp(store.db, id, { settings: '{}' }, clock.now());
    await apps.use(await configOf(id), async () => undefined);
    expect(opened).toHaveLength(2);
  });

  it('a disabled config gets a temporary instance, torn down after the work even when that failed', async () => {
    const id = await addApp(store.db, projectId, { ...withJobs, enabled: false });
    const { apps, closed } = startApps();
    await expect(
      apps.use(await configOf(id), async () => {
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(closed).toEqual([id]);
  });
});

describe('setting up an app', () => {
  it('a RetryError is retried after 5, 10, 20, 40 and 80 s, then not until the config changes', async () => {
    const id = await addApp(store.db, projectId, scheduled);
    let healthy = false;
    const { apps, follow, opened, lines } = startApps({
      setup: () => {
        if (!healthy) throw retryError('the source sleeps');
      },
    });
    await follow();
    for (const [index, delay] of [5000, 10_000, 20_000, 40_000, 80_000].entries()) {
      expect(await errorOf(store.db, id)).toContain('setup failed: the source sleeps');
      clock.advance(delay - 1);
      await follow();
      expect(opened).toHaveLength(index + 1);
      clock.advance(1);
      await follow();
      expect(opened).toHaveLength(index + 2);
    }
    clock.advance(3_600_000);
    await follow();
    expect(opened).toHaveLength(6);
    expect(apps.scheduled()).toEqual([]);
    expect(await errorOf(store.db, id)).toContain('not retried until the config changes');
    const { enabled } = await store.db.selectFrom('plugin_configs').select('enabled').executeTakeFirstOrThrow();
    expect(enabled).toBe(1);
    healthy = true;
    await changeApp(store.db, id, { settings: '{"a":1}' }, clock.now());
    await follow();
    expect(apps.scheduled()).toMatchObject([{ configId: id }]);
    expect(await errorOf(store.db, id)).toBe('');
    expect(lines.filter(({ level }) => level === 'ERROR')).toHaveLength(6);
    expect(lines.at(-1)).toMatchObject({ level: 'INFO', source: 'SYSTEM', message: 'set up (version 1.0.0)' });
  });

  it('any other error is recorded everywhere, without the secret, and is not retried', async () => {
    const fields = [{ key: 'token', name: 'Token', type: 'string', secret: true }] as const;
    const id = await addApp(store.db, projectId, { ...scheduled, fields, settings: { token: 'hunter2' } });
    const { apps, follow, opened, lines } = startApps({
      setup: ({ settings }) => {
        throw thrownError(`bad token ${String(settings['token'])}`, 'setupPlugin');
      },
    });
    await follow();
    clock.advance(3_600_000);
    await follow();
    expect(opened).toHaveLength(1);
    expect(await errorOf(store.db, id)).toContain(`setup failed: bad token ${secretMask}`);
    expect(lines).toMatchObject([{ level: 'ERROR', source: 'SYSTEM' }]);
    const failure = { config_id: id, method: 'setupPlugin', name: 'TypeError', message: `bad token ${secretMask}` };
    expect(await failuresOf(store.db)).toMatchObject([failure]);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    const log = await store.db.selectFrom('activity_log').select(['activity', 'is_system']).execute();
    expect(log).toMatchObject([{ activity: 'failed', is_system: 1 }]);
    const using = apps.use(await configOf(id), async () => 'never');
    await expect(using).rejects.toMatchObject({ name: 'AppSetupError', retryInMs: undefined });
  });

  it('a missing setting is not a failure: the record shows it, and the app starts once the setting arrives', async () => {
    const fields = [{ key: 'host', name: 'Host', type: 'string', required: true }] as const;
    const id = await addApp(store.db, projectId, { ...scheduled, fields });
    const { apps, follow, opened } = startApps();
    await follow();
    expect([opened, await failuresOf(store.db), await errorOf(store.db, id)]).toEqual([[], [], '']);
    clock.advance(1);
    await changeApp(store.db, id, { settings: '{"host":"h"}' }, clock.now());
    await follow();
    expect(apps.scheduled()).toMatchObject([{ configId: id }]);
  });

  it('a setup clears the setup error of an earlier process, and nothing else', async () => {
    const [setup, job] = [await addApp(store.db, projectId, scheduled), await addApp(store.db, projectId, scheduled)];
    const now = clock.now();
    await reportFailure(store.db, setup, { what: 'setup', text: 'x (retrying soon)', now });
    await reportFailure(store.db, job, { what: 'job "sync"', text: 'y', now });
    const { follow } = startApps();
    await follow();
    expect([await errorOf(store.db, setup), await errorOf(store.db, job)]).toEqual(['', 'job "sync" failed: y']);
  });
});
