import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runCommand } from '../../../test/support/command.ts';
import { openCommandShell, type CommandShell } from '../../../test/support/command-shell.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';
import { inFolder } from '../../../test/support/guide-import.ts';
import { readBlocks } from '../../../test/support/page-blocks.ts';
import { shareOf } from '../../../test/support/page-commands.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';

const page = 'docs/guides/configuration-files.md';
const share = shareOf(import.meta.url);

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

function blocksIn(language: string, from = page): string[] {
  return readBlocks(from).flatMap((block) => (block.language === language ? [block.text] : []));
}

interface Part {
  readonly version?: number;
  readonly plugins?: object;
  readonly settings?: object;
  readonly retention?: object;
  readonly import_apps?: readonly { readonly settings?: object }[];
}

/** What every import from PostgreSQL needs. */
const postgres = { host: 'db', query: 'select id from orders', cursor_column: 'id', format: 'mapping' };

function withNeeds(app: { readonly settings?: object }): object {
  return { ...app, settings: { ...postgres, ...app.settings } };
}

/** A part of a file, in the file around it. */
function wholeOf(part: Part): object {
  if (part.version !== undefined) return part;
  if (part.retention !== undefined) return { version: 1, projects: [{ name: 'Shop', ...part }] };
  if (part.plugins !== undefined) return { version: 1, ...part, projects: [{ name: 'Shop' }] };
  const apps = part.import_apps ?? [{ plugin: 'postgres', settings: part.settings ?? {} }];
  return { version: 1, projects: [{ name: 'Shop', import_apps: apps.map(withNeeds) }] };
}

it.each([...blocksIn('yaml'), ...blocksIn('yaml', 'docs/guides/schedules.md')])(
  'what the pages show of files is valid: %s',
  async (block) => {
    await inFolder(async (folder) => {
      await mkdir(join(folder, 'plugins/mine'), { recursive: true });
      const file = join(folder, 'millrace.yaml');
      // JSON is YAML.
      await writeFile(file, JSON.stringify(wholeOf(parse(block) as Part)));
      const { code, stderr, stdout } = await runCommand(['validate', '--file', file]);
      expect([code, stderr, stdout]).toEqual([0, expect.any(String), expect.any(String)]);
    });
  },
);

it('the guide to configuration files works as written, with the output it shows', async () => {
  const [yaml = ''] = blocksIn('yaml');
  const blocks = share.take({ page });
  await inFolder(async (folder) => {
    const [make = '', ...use] = blocks;
    await shell.run(service + make, folder);
    const exported = await readFile(join(folder, 'millrace.yaml'), 'utf8');
    expect(parse(exported)).toEqual(parse(yaml.replace('Default project', configs.app.project.name)));
    const plan = await shell.run(service + use.join(''), folder);
    const [shown = ''] = blocksIn('text');
    expect(plan).toContain(shown.split('\n').slice(1, 4).join('\n'));
  });
  const { body } = await configs.call('GET', 'transformation', '/');
  const [, hash] = body['results'] as { readonly config: string }[];
  expect(JSON.parse(hash?.config ?? '{}')).toMatchObject({ propertiesToHash: 'email, phone' });
  expect(share.left()).toEqual([]);
});
