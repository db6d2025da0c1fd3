import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { openCommandShell, type CommandShell } from '../../../test/support/command-shell.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';
import { blocksOf, guidesDir, inFolder } from '../../../test/support/guide-blocks.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';

const guide = 'configuration-files.md';

let configs: ConfigsApp;
let shell: CommandShell;
let service: string;
beforeAll(async () => {
  configs = await startConfigsApp({ plugins: builtInPlugins });
  shell = await openCommandShell({ exports: true });
  await configs.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = configs.app.app.server.address() as AddressInfo;
  service = `export MILLRACE_URL=http://127.0.0.1:${port} MILLRACE_API_KEY=${await configs.app.key()}\n`;
});
afterAll(async () => {
  await shell[Symbol.asyncDispose]();
  await configs[Symbol.asyncDispose]();
});

it('the guide to configuration files can be run as written, and shows what it says', async () => {
  const text = await readFile(join(guidesDir, guide), 'utf8');
  const [yaml = ''] = [...text.matchAll(/^```yaml\n([^]*?)^```/gm)].map(([, block]) => block ?? '');
  const blocks = [...(await blocksOf(guide, 'From a service')), ...(await blocksOf(guide, 'In CI'))];
  expect(blocks).toHaveLength(4);
  await inFolder(async (folder) => {
    const [make = '', ...use] = blocks;
    await shell.run(service + make, folder);
    const exported = await readFile(join(folder, 'millrace.yaml'), 'utf8');
    expect(parse(exported)).toEqual(parse(yaml.replace('Default project', configs.app.project.name)));
    const plan = await shell.run(service + use.join(''), folder);
    const [shown = ''] = [...text.matchAll(/^```text\n([^]*?)^```/gm)].map(([, block]) => block ?? '');
    expect(plan).toContain(shown.split('\n').slice(1, 4).join('\n'));
  });
  const { body } = await configs.call('GET', 'transformation', '/');
  const [, hash] = body['results'] as { readonly config: string }[];
  expect(JSON.parse(hash?.config ?? '{}')).toMatchObject({ propertiesToHash: 'email, phone' });
}, 120_000);
