import { describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { familiesOf } from '../../wire/contract/plugins.ts';
import { createOrganization } from '../../stores/metadata/organizations.ts';
import type { PluginField } from '../fields.ts';
import { builtInPlugins, builtInRegistry } from './registry.ts';
import { capabilitiesOf, syncPlugins } from './sync-plugins.ts';

const now = Date.parse('2026-11-20T10:00:00Z');

describe('built-in plugins', () => {
  it('keep their ids across starts, changes and concurrent processes', async () => {
    await using store = await tempMetadata();
    await Promise.all([syncPlugins(store.db, builtInPlugins, now), syncPlugins(store.db, builtInPlugins, now)]);
    const ids = async () => store.db.selectFrom('plugins').select(['id', 'slug']).orderBy('slug').execute();
    const before = await ids();
    expect(before).toHaveLength(builtInPlugins.length);
    const changed = builtInPlugins.toReversed().map((plugin) => Object.assign({}, plugin, { version: '9.9.9' }));
    await syncPlugins(store.db, changed, now + 1);
    expect(await ids()).toEqual(before);
    const rows = await store.db.selectFrom('plugins').select(['version', 'created_at', 'updated_at']).execute();
    expect(new Set(rows.map(({ version }) => version))).toEqual(new Set(['9.9.9']));
    expect(rows[0]?.created_at).not.toBe(rows[0]?.updated_at);
  });

  it('take their slug from a plugin that users installed under it earlier, and nothing else', async () => {
    await using store = await tempMetadata();
    const { id: organization_id } = await createOrganization(store.db, { name: 'o' }, now);
    const text = { name: 'Theirs', description: '', version: '1', url: null, created_at: '', updated_at: '' };
    const json = { config_schema: '[]', capabilities: '{}', public_jobs: '{}' };
    const theirs = { ...text, ...json, organization_id, slug: 'drop-events', kind: 'none', latest_version_id: null };
    const { id } = await store.db.insertInto('plugins').values(theirs).returning('id').executeTakeFirstOrThrow();
    for (const time of [now, now + 1]) await syncPlugins(store.db, builtInPlugins, time);
    const kept = await store.db.selectFrom('plugins').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(kept).toEqual({ ...theirs, id, slug: `drop-events-${id}` });
    const rows = await store.db.selectFrom('plugins').select('name').where('slug', '=', 'drop-events').execute();
    expect(rows).toEqual([{ name: 'Drop events' }]);
  });

  it('are distinguished by slugs in kebab-case', () => {
    const slugs = builtInPlugins.map(({ slug }) => slug);
    expect(new Set(slugs).size).toBe(slugs.length);
    for (const slug of slugs) expect(slug).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
    expect(builtInRegistry.get('drop-events')?.name).toBe('Drop events');
    expect(builtInRegistry.get('constructor')).toBeUndefined();
  });

  it.each(builtInPlugins.map((plugin) => [plugin.slug, plugin] as const))(
    '%s: fields are consistent',
    (_slug, plugin) => {
      const fields: readonly PluginField[] = plugin.fields;
      const keys = fields.map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
      const choiceFields = fields.filter(({ type }) => type === 'choice');
      for (const { choices, default: standard } of choiceFields) expect(choices).toContain(standard);
      expect(fields.filter(({ type, choices }) => type !== 'choice' && choices !== undefined)).toEqual([]);
      expect(familiesOf(capabilitiesOf(plugin))).toEqual([plugin.kind]);
    },
  );
});

describe('families of a plugin', () => {
  const can = (methods: string[], jobs: string[], scheduled: string[]) =>
    familiesOf({ methods, jobs, scheduled_tasks: scheduled });

  it.each([
    [can(['processEvent'], [], []), ['transformation']],
    [can(['processEvent'], ['job'], []), ['transformation']],
    [can([], ['job'], []), ['import-app']],
    [can([], [], ['runEveryMinute']), ['import-app']],
    [can(['importEvents'], [], []), ['import-app']],
    [can(['processEvent'], [], ['runEveryMinute']), ['import-app', 'transformation']],
    [can(['processEventBatch'], ['job'], []), ['transformation']],
    [can(['onEvent'], [], []), ['transformation']],
    [can(['exportEvents'], ['retry'], []), ['transformation']],
    [can(['setupPlugin'], [], []), []],
  ])('%#: %j', (families, expected) => {
    expect(families).toEqual(expected);
  });
});
