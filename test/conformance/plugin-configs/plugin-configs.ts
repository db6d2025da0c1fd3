import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { idempotent } from '../../../src/server/api/idempotency.ts';
import type { ApiRequest } from '../../../src/server/http/api-route.ts';
import { claim, enqueue, findJob, succeed } from '../../../src/queue/jobs/queue.ts';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { migrate } from '../../../src/stores/metadata/migrate.ts';
import { createOrganization } from '../../../src/stores/metadata/organizations.ts';
import { createProject, type Project } from '../../../src/stores/metadata/projects.ts';
import { createUser } from '../../../src/stores/metadata/users.ts';
import { createRegistry } from '../../../src/plugins/plugin-registry.ts';
import { syncPlugins } from '../../../src/plugins/built-in/sync-plugins.ts';
import { listActivity, type Actor } from '../../../src/stores/metadata/activity.ts';
import { createConfig } from '../../../src/plugins/configs/create-config.ts';
import { rearrange } from '../../../src/plugins/configs/rearrange.ts';
import { recordAt } from '../../../src/plugins/configs/record-at.ts';
import { toRecord } from '../../../src/plugins/configs/config-record.ts';
import { beginWork, deleteConfig, type Work } from '../../../src/plugins/configs/save-changes.ts';
import { chainSource, setConfigError } from '../../../src/plugins/configs/set-config-error.ts';
import { writeSettings } from '../../../src/plugins/configs/write-settings.ts';
import {
  countConfigs,
  findConfig,
  listConfigs,
  type StoredConfig,
} from '../../../src/plugins/configs/stored-config.ts';
import { testPlugins } from '../../support/plugin-rows.ts';
import { createTrial } from '../../../src/plugins/configs/create-trial.ts';
import { updateConfig } from '../../../src/plugins/configs/update-config.ts';

const start = Date.parse('2026-11-20T10:00:00.000Z');
const trial = createTrial(createRegistry(testPlugins));

export interface ConformingStore extends AsyncDisposable {
  readonly db: Metadata;
  /** Another handle on the same store, as another process has. May be the same one if only one is possible. */
  readonly other: Metadata;
}

/** The promises of plugin configs, jobs and repeated requests on every metadata store. */
export function testPluginConfigs(dialect: 'sqlite' | 'postgres', open: () => Promise<ConformingStore>): void {
  describe('plugin configs, jobs and repeated requests', () => {
    let store: ConformingStore;
    let project: Project;
    let actor: Actor;
    let plugin: number;
    let now: number;

    beforeEach(async () => {
      now = start;
      store = await open();
      await migrate(store.db, dialect);
      const organization = await createOrganization(store.db, { name: 'o' }, now);
      project = await createProject(store.db, { organizationId: organization.id, name: 'p' }, now);
      const ada = {
        organizationId: organization.id,
        firstName: 'Ada',
        email: 'ada@example.com',
        role: 'admin',
      } as const;
      const user = await createUser(store.db, ada, now);
      actor = { organizationId: organization.id, userId: user.id, keyId: 'k', requestId: 'r' };
      await syncPlugins(store.db, testPlugins, now);
      const known = store.db.selectFrom('plugins').select('id').where('kind', '=', 'transformation');
      plugin = (await known.executeTakeFirstOrThrow()).id;
    });
    afterEach(() => store[Symbol.asyncDispose]());

    const change = <Result>(act: (work: Work) => Promise<Result>, db = store.db): Promise<Result> =>
      db.transaction().execute(async (tx) => {
        const work: Work = { tx, actor, projectId: project.id, now: ++now, trial };
        return act(await beginWork(work));
      });
    const create = (): Promise<StoredConfig> => change((work) => createConfig(work, 'transformation', { plugin }));
    const find = (id: number) => findConfig(store.db, { projectId: project.id, family: 'transformation', id, now });

    it('a config is created, changed and deleted, and the activity log records each step', async () => {
      const created = await create();
      const first = toRecord(created);
      await change((work) => updateConfig(work, created, { enabled: true, name: 'näme 🙂' }));
      await store.db
        .transaction()
        .execute((tx) => setConfigError(tx, created.id, { error: 'it broke', source: chainSource }, ++now));
      const broken = await find(created.id);
      expect(broken).toMatchObject({ enabled: true, name: 'näme 🙂', error: 'it broke' });
      await change(async (work) => deleteConfig(work, broken ?? created));
      expect(await find(created.id)).toBeUndefined();
      const { id: projectId, organizationId } = project;
      const item = { scope: 'PluginConfig', itemId: String(created.id) } as const;
      const filter = { projectId, organizationId, seesOrganization: false, ...item };
      const { count, entries } = await listActivity(store.db, filter, { limit: 10, offset: 0 });
      expect(count).toBe(4);
      expect(entries.map(({ activity }) => activity)).toEqual(['deleted', 'failed', 'enabled', 'created']);
      expect(entries.map(({ user }) => user?.first_name)).toEqual(['Ada', undefined, 'Ada', 'Ada']);
      const of = { projectId: project.id, family: 'transformation', id: created.id } as const;
      expect(await recordAt(store.db, { ...of, at: first.created_at })).toEqual(first);
      expect(await recordAt(store.db, { ...of, at: new Date(now).toISOString() })).toBeUndefined();
    });

    it('files and settings are returned unchanged; counters are numbers', async () => {
      const created = await create();
      const content = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      const files = new Map([['map', { fileName: 'm.bin', contentType: 'application/octet-stream', content }]]);
      const values = { bucket: 'ünï \u0001', table: { deep: [1, null, { x: '\u0000' }] } };
      await change((work) => writeSettings(work, created, { values, files }, 'replace'));
      const hour = '2026-11-20T09:00:00.000000Z';
      const counts = { config_id: created.id, project_id: project.id, hour, succeeded: 3, failed: 1, dropped: 0 };
      await store.db.insertInto('plugin_metrics').values(counts).execute();
      const found = await find(created.id);
      expect(found?.settings).toEqual(values);
      expect(found?.attachments).toMatchObject([{ key: 'map', size: 256 }]);
      expect([found?.delivered, found?.failed]).toEqual([3, 1]);
      const { content: kept } = await store.db
        .selectFrom('plugin_attachments')
        .select('content')
        .executeTakeFirstOrThrow();
      expect(Buffer.from(kept).equals(content)).toBe(true);
    });

    it('changes from two processes are serialised: positions stay 0..n-1 and no field is lost', async () => {
      const configs: StoredConfig[] = [];
      for (let made = 0; made < 4; made++) configs.push(await create());
      const moves = configs.flatMap(({ id }, index) =>
        [store.db, store.other].flatMap((db, half) => [
          change((work) => rearrange(work, 'transformation', { id, order: (index + half) % 4 }), db),
          change(async (work) => {
            const config = await findConfig(work.tx, { ...work, family: 'transformation', id });
            if (config === undefined) throw new Error('expected the config');
            const key = half === 0 ? 'bucket' : 'token';
            return writeSettings(work, config, { values: { [key]: 'x' }, files: new Map() }, 'merge');
          }, db),
        ]),
      );
      await Promise.all(moves);
      const after = await listConfigs(store.db, { projectId: project.id, family: 'transformation', now });
      expect(after.map(({ position }) => position)).toEqual([0, 1, 2, 3]);
      for (const { settings } of after) expect(settings).toEqual({ bucket: 'x', token: 'x' });
      expect(await countConfigs(store.db, project.id, 'transformation')).toBe(4);
    });

    it('jobs are claimed once, one per config, while configs are created and deleted', async () => {
      const configs: StoredConfig[] = [];
      for (let made = 0; made < 4; made++) configs.push(await create());
      const jobs: string[] = [];
      for (const { id: configId } of configs) {
        for (const type of ['one', 'two']) {
          const job = { projectId: project.id, configId, type, operation: 'start', payload: {}, now };
          jobs.push(await enqueue(store.db, job));
        }
      }
      const [doomed, ...kept] = configs;
      const handles = Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? store.db : store.other));
      const [taken] = await Promise.all([
        Promise.all(handles.map((db) => claim(db, now + 1000, 60_000))),
        change((work) => (doomed === undefined ? Promise.resolve() : deleteConfig(work, doomed))),
      ]);
      const found = taken.filter((job) => job !== undefined);
      const byConfig = found.map(({ configId }) => configId).filter((id) => id !== doomed?.id);
      expect(byConfig.sort((a, b) => a - b)).toEqual(kept.map(({ id }) => id));
      for (const job of found) expect(await succeed(store.other, job, now)).toBe(true);
      const [one] = found;
      expect(await findJob(store.db, project.id, one?.id ?? '')).toMatchObject({ state: 'succeeded', attempts: 1 });
    });

    it('a request received by two processes concurrently has one effect and one response', async () => {
      const handler = (db: Metadata) =>
        idempotent(db, { now: () => start }, async (_request, tx) => {
          const work: Work = { tx, actor, projectId: project.id, now: start, trial };
          const config = await createConfig(await beginWork(work), 'transformation', { plugin });
          return { status: 201, body: toRecord(config), headers: { location: 'there' } };
        });
      const request: ApiRequest = {
        checkAgain: async () => {},
        params: {},
        query: {},
        body: { plugin },
        principal: {
          kind: 'session',
          sessionId: 's',
          userId: 1,
          organizationId: project.organizationId,
          role: 'admin',
          scopes: null,
        },
        project: () => project,
        requestId: 'r',
        method: 'POST',
        url: 'http://localhost/api/x/',
        rawQuery: '',
        headers: { 'idempotency-key': 'once' },
        files: new Map(),
      };
      const handlers = [handler(store.db), handler(store.other)];
      const answers = await Promise.all([...handlers, ...handlers].map((handle) => handle(request)));
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
      expect(answers.filter(({ headers }) => headers?.['idempotency-replayed'] === 'true')).toHaveLength(3);
      expect(await countConfigs(store.db, project.id, 'transformation')).toBe(1);
    });
  });
}
