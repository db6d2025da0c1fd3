import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tempMetadata } from '../../../test/support/metadata.ts';
import type { IsolatedSandbox } from '../sandbox/create-sandbox.ts';
import { SandboxError } from '../sandbox/sandbox.ts';
import { openTestSandbox } from '../../../test/support/sandbox.ts';
import { createOrganization } from '../../stores/metadata/organizations.ts';
import { installPlugin } from '../../../test/support/install-plugin.ts';
import { preparePlugin, type PrepareDeps } from './prepare-plugin.ts';
import { makeTgz, makeZip, members } from '../../../test/support/archives.ts';

let sandbox: IsolatedSandbox;
let deps: PrepareDeps;
beforeAll(() => {
  sandbox = openTestSandbox();
  deps = { sandbox, npmRegistry: '', fetch: () => Promise.reject(new Error('expected no request')) };
});
afterAll(() => sandbox.close());

const prepare = (files: Readonly<Record<string, string>>) => preparePlugin(deps, { kind: 'files', files });
const named = (code: string) => ({ 'plugin.json': '{"name": "Tried"}', 'index.ts': code });

/** A published package as npm delivers it. */
function published(name: string): Uint8Array {
  const folder = fileURLToPath(new URL(`../../../node_modules/@posthog/${name}/`, import.meta.url));
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = names.map(({ parentPath, name: file }) => `${parentPath}/${file}`.replaceAll('//', '/'));
  return makeTgz(files.map((file) => ({ path: `package/${file.slice(folder.length)}`, content: readFileSync(file) })));
}

describe('capabilities of a plugin are found by loading it in the sandbox', () => {
  it.each([
    ['geoip-plugin', 'GeoIP', ['processEvent']],
    ['user-agent-app', 'User Agent Populator', ['processEvent', 'setupPlugin']],
  ])('@posthog/%s, unmodified', async (name, pluginName, methods) => {
    const plugin = await preparePlugin(deps, { kind: 'archive', bytes: published(name) });
    expect(plugin).toMatchObject({ name: pluginName, version: '0.0.7' });
    expect(plugin.capabilities.methods.toSorted()).toEqual(methods);
  });

  it.each([
    [
      'several TypeScript files',
      {
        'index.ts': "import { a } from './a'\nexport const processEvent = (e: object) => a(e)",
        'a.ts': 'export const a = (e: object) => e',
      },
    ],
    [
      'a script whose functions are at the top',
      { 'index.js': '"use strict"; seen = 0; function processEvent(e) { return e }' },
    ],
    ['a default export', { 'index.ts': 'export default { processEvent: (e: object) => e }' }],
    ['module.exports', { 'index.js': 'module.exports = { processEvent: (e) => e }' }],
    [
      'imports of what a sandbox has',
      {
        'index.ts':
          "import { createHash } from 'crypto'\nimport * as url from 'url'\nexport const processEvent = (e: object) => [createHash, url, e]",
      },
    ],
  ])('%s', async (_name, files) => {
    const plugin = await prepare({ 'plugin.json': '{"name": "Tried"}', ...files });
    expect(plugin.capabilities).toEqual({ methods: ['processEvent'], scheduled_tasks: [], jobs: [] });
  });

  it('tasks, jobs and metrics are distinguished', async () => {
    const code = `export const jobs = { refresh: () => {} }
      export const metrics = { seen: 'sum' }
      export function runEveryMinute() {}
      export function onEvent() {}`;
    const { capabilities, metrics } = await prepare(named(code));
    expect(capabilities).toEqual({ methods: ['onEvent'], scheduled_tasks: ['runEveryMinute'], jobs: ['refresh'] });
    expect(metrics).toEqual({ seen: 'sum' });
  });

  it('is retried if the process ended: another plugin may be the cause', async () => {
    let tries = 0;
    const failing: PrepareDeps['sandbox'] = {
      describe: async (program) => {
        tries += 1;
        if (tries === 1) throw new SandboxError('crashed', 'the process ended', { method: 'load' });
        return sandbox.describe(program);
      },
    };
    const source = { kind: 'files', files: named('export const onEvent = () => {}') } as const;
    const plugin = await preparePlugin({ ...deps, sandbox: failing }, source);
    expect([tries, plugin.capabilities.methods]).toEqual([2, ['onEvent']]);
  });

  it.each([
    ['a forbidden import', "import fs from 'fs'\nexport const processEvent = () => fs", '"fs"'],
    ['an error while it is loaded', 'throw new Error("not today")', 'not today'],
    ['a loop that never ends', 'for (;;) {}', 'The plugin cannot be loaded'],
    ['a metric of no known kind', "export const metrics = { seen: 'average' }", 'The plugin cannot be loaded'],
  ])('%s stops the installation with a sentence, and nothing is stored', async (_name, code, message) => {
    await using store = await tempMetadata();
    const { id: organizationId } = await createOrganization(store.db, { name: 'o' }, 0);
    const actor = { organizationId, userId: null, keyId: null, requestId: null };
    const bytes = makeZip(members(named(code)));
    const installing = installPlugin({ ...deps, db: store.db }, { kind: 'archive', bytes }, { actor, now: 0 });
    await expect(installing).rejects.toThrow(message);
    await expect(installing).rejects.toMatchObject({ name: 'PluginPackageError' });
    expect(await store.db.selectFrom('plugins').select('id').execute()).toEqual([]);
  });
});
