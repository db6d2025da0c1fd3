import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Metadata } from '../../../src/stores/metadata/database.ts';
import { migrate } from '../../../src/stores/metadata/migrate.ts';
import { createOrganization } from '../../../src/stores/metadata/organizations.ts';
import { createProject, type Project } from '../../../src/stores/metadata/projects.ts';
import { createUser } from '../../../src/stores/metadata/users.ts';
import { listActivity, type Actor } from '../../../src/stores/metadata/activity.ts';
import { createConfig } from '../../../src/plugins/configs/create-config.ts';
import { rollBackConfig, upgradeConfig } from '../../../src/plugins/configs/change-version.ts';
import { beginWork, type Work } from '../../../src/plugins/configs/save-changes.ts';
import { findConfig } from '../../../src/plugins/configs/stored-config.ts';
import { installPlugin } from '../../support/install-plugin.ts';
import { findPluginRecord, listPluginRecords } from '../../../src/plugins/packages/plugin-records.ts';
import { createProgramLoader } from '../../../src/plugins/packages/program-loader.ts';
import { deletePlugin } from '../../../src/plugins/packages/store-plugin.ts';
import { testSandbox } from '../../support/describe-plugin.ts';
import { listVersions } from '../../../src/plugins/packages/versions.ts';

const start = Date.parse('2026-11-20T10:00:00.000Z');
const page = { limit: 10, offset: 0 };

export interface ConformingStore extends AsyncDisposable {
  readonly db: Metadata;
}

/** The promises of installed plugins and their versions on every metadata store. */
export function testPluginPackages(dialect: 'sqlite' | 'postgres', open: () => Promise<ConformingStore>): void {
  describe('installed plugins', () => {
    let store: ConformingStore;
    let project: Project;
    let actor: Actor;
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
      actor = { organizationId: organization.id, userId: user.id, keyId: null, requestId: null };
    });
    afterEach(() => store[Symbol.asyncDispose]());

    const install = (name: string, code: string, update?: number) => {
      const deps = {
        db: store.db,
        sandbox: testSandbox,
        npmRegistry: '',
        fetch: () => Promise.reject(new Error('none')),
      };
      const files = { 'plugin.json': JSON.stringify({ name, description: 'Ünder 50%_\\ näme' }), 'index.js': code };
      return installPlugin(deps, { kind: 'files', files }, { actor, now: ++now, update });
    };
    const change = <Result>(act: (work: Work) => Promise<Result>): Promise<Result> =>
      store.db.transaction().execute(async (tx) => {
        const work: Work = { tx, actor, projectId: project.id, now: ++now, trial: () => '' };
        return act(await beginWork(work));
      });
    const processes = (mark: string) => `exports.processEvent = (event) => event // ${mark} \u{1f642}`;

    it('a version never changes when others are added', async () => {
      const { id } = await install('Kept', processes('one'));
      const config = await change((work) => createConfig(work, 'transformation', { plugin: id }));
      const loadProgram = createProgramLoader(store.db);
      const program = await loadProgram(config.plugin.versionId ?? 0);
      expect(program).toMatchObject({ pluginName: 'Kept', pluginId: id, version: '1', code: processes('one') });
      await install('Kept', processes('two'), id);
      expect(await findPluginRecord(store.db, id, actor.organizationId)).toMatchObject({ version: '2', versions: 2 });
      const at = { projectId: project.id, family: 'transformation', id: config.id, now } as const;
      expect((await findConfig(store.db, at))?.plugin).toMatchObject({
        version: '1',
        versionId: config.plugin.versionId,
      });
      const upgraded = await change((work) => upgradeConfig(work, config));
      expect(upgraded.plugin.version).toBe('2');
      expect((await loadProgram(upgraded.plugin.versionId ?? 0))?.code).toBe(processes('two'));
      expect((await change((work) => rollBackConfig(work, upgraded))).plugin.version).toBe('1');
      const { count, versions } = await listVersions(store.db, { pluginId: id, projectId: project.id }, page);
      expect(count).toBe(2);
      expect(versions.map(({ version, is_latest, configs }) => [version, is_latest, configs])).toEqual([
        ['2', true, 0],
        ['1', false, 1],
      ]);
    });

    it('programs are read once; a missing one is undefined, and found when it appears', async () => {
      const loadProgram = createProgramLoader(store.db);
      expect(await loadProgram(1)).toBeUndefined();
      await install('Read', processes('one'));
      const first = await loadProgram(1);
      expect(first?.version).toBe('1');
      expect(await loadProgram(1)).toBe(first);
    });

    it('are found by text and kind; pattern characters are literal', async () => {
      await install('Finds', processes('one'));
      await install('Runs', 'exports.runEveryHour = () => {}');
      const search = async (text: string, kind?: 'import-app') =>
        (await listPluginRecords(store.db, actor.organizationId, { search: text, kind }, page)).count;
      expect([await search('FINDS'), await search('50%_\\'), await search('5%'), await search("'")]).toEqual([
        1, 2, 0, 0,
      ]);
      expect(await search('', 'import-app')).toBe(1);
    });

    it('two concurrent installations create one, and the other fails', async () => {
      const both = await Promise.allSettled([install('Twin', processes('a')), install('twin', processes('b'))]);
      expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { code: 'conflict' } });
      expect(await store.db.selectFrom('plugin_versions').select('id').execute()).toHaveLength(1);
    });

    it('are deleted with their versions, and the log keeps a record', async () => {
      const { id } = await install('Goes', processes('one'));
      await store.db.transaction().execute(async (tx) => {
        await deletePlugin(await beginWork({ tx, actor, now: ++now }), id, project.id);
      });
      expect(await findPluginRecord(store.db, id, actor.organizationId)).toBeUndefined();
      expect(await store.db.selectFrom('plugin_versions').select('id').execute()).toEqual([]);
      const { id: projectId, organizationId } = project;
      const item = { scope: 'Plugin', itemId: String(id) } as const;
      const filter = { projectId, organizationId, seesOrganization: false, ...item };
      const { entries } = await listActivity(store.db, filter, page);
      expect(entries.map(({ activity, user }) => [activity, user?.first_name])).toEqual([
        ['uninstalled', 'Ada'],
        ['installed', 'Ada'],
      ]);
    });
  });
}
