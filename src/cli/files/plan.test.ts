import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../base/json.ts';
import type { PluginField } from '../../plugins/fields.ts';
import { fieldChanges, settingChanges, type Change } from './config-changes.ts';
import type { ConfigEntry } from './configuration-file.ts';
import { matchConfigs } from './make-plan.ts';
import { countPlan, isEmptyPlan, planFamily, type ConfigPlan } from './plan.ts';
import { createReferences } from './references.ts';
import { resolveSettings } from './resolve-settings.ts';
import type { PresentConfig } from './target.ts';

const fields: readonly PluginField[] = [
  { key: 'bucket', name: 'Bucket', type: 'string' },
  { key: 'region', name: 'Region', type: 'choice', choices: ['eu', 'us'], default: 'eu' },
  { key: 'rate', name: 'Rate', type: 'number' },
  { key: 'table', name: 'Table', type: 'json' },
  { key: 'token', name: 'Token', type: 'string', secret: true },
];

function config(id: number, name: string, more: Partial<PresentConfig> = {}): PresentConfig {
  return {
    id,
    family: 'transformation',
    plugin: 'p',
    name,
    description: 'What it does.',
    enabled: true,
    settings: {},
    version: '1.0.0',
    fields,
    pluginName: 'P',
    pluginDescription: 'What it does.',
    schedule: null,
    updatedAt: '2026-01-01T00:00:00.000000Z',
    ...more,
  };
}

const nameOf = ({ name = 'P' }: ConfigEntry): string => name;

describe('the config of an entry', () => {
  const found = (entries: readonly ConfigEntry[], configs: readonly PresentConfig[]) => {
    const { present, others } = matchConfigs(entries, configs, nameOf);
    return { present: present.map((each) => each?.id), others: others.map(({ id }) => id) };
  };

  it('is the one with its plugin and name, at any position', () => {
    const configs = [config(1, 'a'), config(2, 'b'), config(3, 'b', { plugin: 'q' })];
    const entries = [
      { plugin: 'q', name: 'b' },
      { plugin: 'p', name: 'b' },
      { plugin: 'p', name: 'new' },
    ];
    expect(found(entries, configs)).toEqual({ present: [3, 2, undefined], others: [1] });
  });

  it('without a name is the one named like the plugin', () => {
    expect(found([{ plugin: 'p' }], [config(1, 'P')])).toEqual({ present: [1], others: [] });
  });

  it('among equals is the first for the first entry', () => {
    const entries = [
      { plugin: 'p', name: 'a' },
      { plugin: 'p', name: 'a' },
      { plugin: 'p', name: 'a' },
    ];
    expect(found(entries, [config(7, 'a'), config(5, 'a')])).toEqual({ present: [7, 5, undefined], others: [] });
  });

  it('is the one with its previous name, unless one already has the new name', () => {
    const entry = { plugin: 'p', name: 'new', previous_name: 'old' };
    expect(found([entry], [config(1, 'old')])).toEqual({ present: [1], others: [] });
    expect(found([entry], [config(1, 'old'), config(2, 'new')])).toEqual({ present: [2], others: [1] });
    expect(found([entry, { plugin: 'p', name: 'old' }], [config(1, 'old')])).toEqual({
      present: [undefined, 1],
      others: [],
    });
  });
});

describe('changes of a config', () => {
  const changes = (settings: JsonObject, stored: JsonObject, different: readonly string[] = []): Change[] => {
    const references = createReferences({ TOKEN: 't', BUCKET: 'from the environment' }, '.');
    const settled = resolveSettings({ plugin: 'p', settings }, fields, references, {});
    return settingChanges(settled, { settings: stored, fields }, { different: new Set(different) });
  };

  it.each<[string, JsonObject, JsonObject, Change[]]>([
    ['nothing', { bucket: 'b' }, { bucket: 'b' }, []],
    ['another value', { bucket: 'c' }, { bucket: 'b' }, [{ field: 'settings.bucket', before: 'b', after: 'c' }]],
    ['a new value', { bucket: 'c' }, {}, [{ field: 'settings.bucket', after: 'c' }]],
    ['an omitted setting', {}, { bucket: 'b' }, [{ field: 'settings.bucket', before: 'b' }]],
    ['one that is emptied', { bucket: '' }, { bucket: 'b' }, [{ field: 'settings.bucket', before: 'b' }]],
    ['a default that is said', { region: 'eu' }, {}, []],
    ['a default that is not said', {}, { region: 'eu' }, []],
    ['back to the default', {}, { region: 'us' }, [{ field: 'settings.region', before: 'us' }]],
    ['a number is kept as text', { rate: 5 }, { rate: '5' }, []],
    ['keys of an object in another order', { table: { a: 1, b: 2 } }, { table: { b: 2, a: 1 } }, []],
    ['an object like a reference where JSON is taken', { table: { env: 'X' } }, { table: { env: 'X' } }, []],
    ['a reference where there is no secret', { bucket: { env: 'BUCKET' } }, { bucket: 'from the environment' }, []],
    ['an omitted secret stays', {}, { token: '***' }, []],
    [
      'a secret that is emptied goes',
      { token: '' },
      { token: '***' },
      [{ field: 'settings.token', before: 'a value', hidden: true }],
    ],
    [
      'a secret that is not set',
      { token: { env: 'TOKEN' } },
      {},
      [{ field: 'settings.token', after: 'variable TOKEN', hidden: true }],
    ],
    ['a secret that is set and the same', { token: { env: 'TOKEN' } }, { token: '***' }, []],
  ])('%s', (_name, settings, stored, expected) => {
    expect(changes(settings, stored)).toEqual(expected);
  });

  it('a secret that differs according to the service, showing neither', () => {
    const found = changes({ token: { env: 'TOKEN' } }, { token: '***' }, ['token']);
    expect(found).toEqual([
      { field: 'settings.token', before: 'another value', after: 'variable TOKEN', hidden: true },
    ]);
  });

  it('name, description, version and enabled', () => {
    const present = config(1, 'old', { description: 'own', enabled: false, version: '1.0.0' });
    expect(fieldChanges({ plugin: 'p' }, present, { name: 'new', version: '2.0.0' })).toEqual([
      { field: 'name', before: 'old', after: 'new' },
      { field: 'version', before: '1.0.0', after: '2.0.0' },
      { field: 'enabled', before: false, after: true },
      { field: 'description', before: 'own', after: 'What it does.' },
    ]);
    const same = { plugin: 'p', enabled: false, description: 'own' };
    expect(fieldChanges(same, present, { name: 'old', version: undefined })).toEqual([]);
  });
});

describe('the plan of a family', () => {
  const create = (name: string): ConfigPlan => ({ action: 'create', entry: { plugin: 'p' }, name, changes: [] });
  const keep = (present: PresentConfig): ConfigPlan => ({
    action: 'keep',
    entry: { plugin: 'p' },
    name: present.name,
    present,
    changes: [],
    uncompared: [],
  });
  const [a, b, x] = [config(1, 'a'), config(2, 'b'), config(3, 'x')];
  const plan = (listed: readonly ConfigPlan[], others: PresentConfig[], present: PresentConfig[], prune: boolean) => {
    const { configs, moved, reorders } = planFamily('transformation', listed, others, present, { prune });
    return { configs: configs.map(({ action, name }) => `${action} ${name}`).join(', '), moved, reorders };
  };

  it('unlisted configs stay in place, and are deleted only on request', () => {
    expect(plan([keep(a), keep(b)], [x], [a, x, b], false)).toEqual({
      configs: 'keep a, leave x, keep b',
      moved: [],
      reorders: false,
    });
    expect(plan([keep(a), keep(b)], [x], [a, x, b], true)).toEqual({
      configs: 'keep a, keep b, bin x',
      moved: [],
      reorders: false,
    });
  });

  it('the order is written when a config moves, or a new one is not last', () => {
    expect(plan([keep(a), create('n')], [], [a], false)).toMatchObject({ moved: [], reorders: false });
    expect(plan([create('n'), keep(a)], [], [a], false)).toMatchObject({ moved: [], reorders: true });
    expect(plan([keep(b), keep(a)], [], [a, b], false)).toMatchObject({ moved: [expect.any(String)], reorders: true });
  });

  it('is empty without changes, whatever is not listed', () => {
    const families = [planFamily('transformation', [keep(a)], [x], [a, x], { prune: false })];
    const whole = { plugins: [], projects: [{ name: 'First', id: 1, changes: [], families }] };
    expect(isEmptyPlan(whole)).toBe(true);
    expect(countPlan(whole)).toEqual({ create: 0, change: 0, bin: 0, move: 0, left: 1, uncompared: 0 });
    expect(isEmptyPlan({ plugins: [], projects: [{ name: 'New', id: undefined, changes: [], families: [] }] })).toBe(
      false,
    );
  });
});
