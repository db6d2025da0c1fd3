import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testSandbox } from '../../../test/support/describe-plugin.ts';
import { startConfigsApp, type Answer, type ConfigsApp } from '../../../test/support/configs-app.ts';

let configs: ConfigsApp;
beforeAll(async () => {
  const packages = { fetch: async () => Promise.reject(new Error('expected no request')), npmRegistry: '' };
  configs = await startConfigsApp({ packages: { ...packages, sandbox: testSandbox } });
});
afterAll(() => configs[Symbol.asyncDispose]());

const process = 'export function processEvent(event: any) { return event }';
let plugins = 0;

/** A new plugin whose versions 1, 2, … have these settings; returns its id. `code` by version. */
async function pluginWith(
  ...versions: readonly { config?: readonly object[]; code?: string; more?: object }[]
): Promise<number> {
  plugins += 1;
  const bodies = versions.map(({ config = [], code = process, more = {} }, index) => ({
    files: {
      'plugin.json': JSON.stringify({ name: `Plugin ${plugins}`, config }),
      'index.ts': `${code} // ${index}`,
      ...more,
    },
  }));
  const [first = {}, ...others] = bodies;
  const { body, text, status } = await configs.plugins('POST', '/', first);
  if (status !== 201) throw new Error(text);
  for (const other of others) await configs.plugins('PATCH', `/${String(body['id'])}/`, other);
  return Number(body['id']);
}

async function useVersion(plugin: number, version: string): Promise<void> {
  const { status, text } = await configs.plugins('PATCH', `/${plugin}/`, { version });
  if (status !== 200) throw new Error(text);
}

const change = (id: number, verb: 'upgrade' | 'rollback', body?: object): Promise<Answer> =>
  configs.call('POST', 'transformation', `/${id}/${verb}/`, body);
const versionOf = (answer: Answer): unknown =>
  (JSON.parse(String(answer.body['plugin_info'])) as { version: string }).version;
const current = async (id: number): Promise<unknown> =>
  versionOf(await configs.call('GET', 'transformation', `/${id}/`));
const settings = (id: number, values?: object): Promise<Answer> =>
  configs.call(values === undefined ? 'GET' : 'PATCH', 'transformation', `/${id}/settings/`, values);

describe('a config of an installed plugin', () => {
  it('keeps the version that it was made with, until it is upgraded', async () => {
    const plugin = await pluginWith({ config: [{ key: 'one' }] });
    const id = await configs.create('transformation', { plugin });
    await configs.plugins('PATCH', `/${plugin}/`, {
      files: { 'plugin.json': `{"name": "Plugin ${plugins}", "config": [{"key": "two"}]}`, 'index.ts': process },
    });
    expect(await current(id)).toBe('1');
    expect((await settings(id, { one: 'x' })).status).toBe(200);
    expect((await settings(id, { two: 'x' })).body).toMatchObject({ attr: 'settings.two' });
    const newer = await configs.create('transformation', { plugin });
    expect(await current(newer)).toBe('2');
    const revision = await configs.revision();
    const upgraded = await change(id, 'upgrade');
    expect(upgraded.status).toBe(200);
    expect(Object.keys(upgraded.body)).toHaveLength(14);
    expect(versionOf(upgraded)).toBe('2');
    expect(await configs.revision()).toBe(revision + 1);
    const [entry] = await configs.activity(id);
    expect(entry).toMatchObject({ activity: 'upgraded', user: { first_name: 'Ada' } });
    expect(entry?.detail.changes).toContainEqual({
      field: 'plugin_version',
      action: 'changed',
      before: '1',
      after: '2',
    });
  });

  it('lists of configs of several versions show each as it is', async () => {
    const plugin = await pluginWith({}, {}, {});
    const ids: number[] = [];
    for (const version of ['1', '2', '3']) {
      await useVersion(plugin, version);
      ids.push(await configs.create('transformation', { plugin }));
    }
    const { body } = await configs.call('GET', 'transformation', '/?limit=1000');
    const shown = (body['results'] as Answer['body'][]).filter(({ id }) => ids.includes(Number(id)));
    expect(shown.map((each) => versionOf({ body: each } as Answer))).toEqual(['1', '2', '3']);
    const { body: list } = await configs.get(`/plugins/${plugin}/versions/`);
    expect((list['results'] as Answer['body'][]).map((each) => each['configs'])).toEqual([1, 1, 1]);
  });

  it('takes the latest version of another plugin that it is given', async () => {
    const [plugin, other] = [await pluginWith({}, {}), await pluginWith({}, {}, {})];
    const id = await configs.create('transformation', { plugin });
    await configs.call('PATCH', 'transformation', `/${id}/`, { plugin: other });
    expect(await current(id)).toBe('3');
    expect((await change(id, 'rollback')).status).toBe(409);
    await configs.call('PATCH', 'transformation', `/${id}/`, { plugin: configs.pluginOf('transformation') });
    expect(await current(id)).toBe('1.0.0');
  });
});

describe('upgrade and rollback', () => {
  it('upgrade leads to a version by name, rollback to where it was, and again back', async () => {
    const plugin = await pluginWith({}, {}, {});
    const id = await configs.create('transformation', { plugin });
    expect(await current(id)).toBe('3');
    expect(versionOf(await change(id, 'upgrade', { version: '1' }))).toBe('1');
    await configs.call('PATCH', 'transformation', `/${id}/`, { name: 'renamed in between' });
    expect(versionOf(await change(id, 'rollback'))).toBe('3');
    expect(versionOf(await change(id, 'rollback'))).toBe('1');
    expect((await configs.activity(id)).map(({ activity }) => activity)).toEqual([
      'rolled_back',
      'rolled_back',
      'updated',
      'upgraded',
      'created',
    ]);
  });

  it('to the version that it runs changes and logs nothing', async () => {
    const id = await configs.create('transformation', { plugin: await pluginWith({}) });
    const revision = await configs.revision();
    expect((await change(id, 'upgrade')).status).toBe(200);
    expect(await configs.activity(id)).toHaveLength(1);
    expect(await configs.revision()).toBe(revision);
  });

  it('are refused with a sentence where there is nothing to change to', async () => {
    const id = await configs.create('transformation', { plugin: await pluginWith({}) });
    expect((await change(id, 'upgrade', { version: '9' })).body).toMatchObject({
      code: 'does_not_exist',
      attr: 'version',
    });
    expect((await change(id, 'rollback')).body['detail']).toContain('has never run another version');
    const builtIn = await configs.create('transformation');
    expect((await change(builtIn, 'upgrade')).body['detail']).toContain('is built in');
    expect((await change(builtIn, 'rollback')).body['detail']).toContain('is built in');
    expect((await change(999_999, 'upgrade')).status).toBe(404);
  });

  it('never to a version that belongs to another family', async () => {
    const plugin = await pluginWith({}, { code: 'export function runEveryHour() {}' });
    await useVersion(plugin, '1');
    const id = await configs.create('transformation', { plugin });
    const refused = await change(id, 'upgrade', { version: '2' });
    expect(refused).toMatchObject({ status: 400, body: { attr: 'version' } });
    expect(refused.body['detail']).toContain('is not a transformation');
  });

  it('settings that a version does not take come back with the one that does; those it refuses go', async () => {
    const old = [{ key: 'token', secret: true }, { key: 'mode', type: 'choice', choices: ['a', 'b'] }, { key: 'kept' }];
    const plugin = await pluginWith(
      { config: old },
      { config: [{ key: 'mode', type: 'choice', choices: ['b'] }, { key: 'kept' }] },
    );
    await useVersion(plugin, '1');
    const id = await configs.create('transformation', { plugin });
    await settings(id, { token: 'hunter2', mode: 'a', kept: 'k' });
    await change(id, 'upgrade', { version: '2' });
    expect((await settings(id)).body).toEqual({ kept: 'k' });
    await change(id, 'rollback');
    // Code that was sent has no owner: a secret of other code has to be given again.
    expect((await settings(id)).body).toEqual({ kept: 'k' });
    const log = JSON.stringify(await configs.activity(id));
    expect(log).toContain('"field":"settings.mode"');
    expect(log).not.toContain('hunter2');
  });

  it('a secret is never shown by a version that does not know that it is one, however it is reached', async () => {
    const plugin = await pluginWith(
      { config: [{ key: 'token', secret: true }] },
      { config: [] },
      { config: [{ key: 'token' }] },
    );
    await useVersion(plugin, '1');
    const id = await configs.create('transformation', { plugin });
    await settings(id, { token: 'hunter2' });
    await change(id, 'upgrade', { version: '2' });
    const last = await change(id, 'upgrade', { version: '3' });
    expect(last.text).not.toContain('hunter2');
    expect((await settings(id)).body).toEqual({});
  });
});

describe('changing the plugin', () => {
  it('takes along nothing that the version in use does not take: it may be a secret of an earlier one', async () => {
    const plugin = await pluginWith({ config: [{ key: 'token', secret: true }] }, { config: [] });
    const other = await pluginWith({ config: [{ key: 'token' }] });
    await useVersion(plugin, '1');
    const id = await configs.create('transformation', { plugin });
    await settings(id, { token: 'hunter2' });
    await change(id, 'upgrade', { version: '2' });
    const moved = await configs.call('PATCH', 'transformation', `/${id}/`, { plugin: other });
    expect(moved.text).not.toContain('hunter2');
    expect((await settings(id)).body).toEqual({});
  });
});

describe('the front end of a config', () => {
  it('is that of its version', async () => {
    const frontend = (title: string) => ({ more: { 'frontend.tsx': `export const scene = { title: '${title}' }` } });
    const plugin = await pluginWith(frontend('first'), frontend('second'), {});
    const titleAt = async (version: string) => {
      await useVersion(plugin, version);
      const id = await configs.create('transformation', { plugin });
      const answer = await configs.call('GET', 'transformation', `/${id}/frontend/`, undefined, {
        accept: 'text/javascript',
      });
      expect(answer.headers['content-type']).toContain('text/javascript');
      const url = `data:text/javascript,${encodeURIComponent(answer.text)}`;
      return ((await import(url)) as { getFrontendApp: () => unknown }).getFrontendApp();
    };
    expect(await titleAt('1')).toMatchObject({ scene: { title: 'first' } });
    expect(await titleAt('2')).toMatchObject({ scene: { title: 'second' } });
    expect(await titleAt('3')).toEqual({ no_frontend: true });
  });
});

describe('settings of published plugins', () => {
  it('are required as things are, and health says which are missing', async () => {
    const config = [
      { markdown: 'One or the other.' },
      { key: 'url' },
      { key: 'host', required_if: [['url', '']] },
      { key: 'mode', type: 'choice', choices: ['plain', 'mapped'], default: 'plain' },
      { key: 'map', required: true, visible_if: [['mode', 'mapped']] },
    ];
    const id = await configs.create('transformation', { plugin: await pluginWith({ config }) });
    const error = async () => (await configs.call('GET', 'transformation', `/${id}/`)).body['error'];
    expect(await error()).toBe('missing required setting "host"');
    await settings(id, { url: 'postgres://x' });
    expect(await error()).toBe('');
    await settings(id, { mode: 'mapped' });
    expect(await error()).toBe('missing required setting "map"');
  });
});
