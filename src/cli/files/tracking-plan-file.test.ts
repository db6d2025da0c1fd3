import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { startConfigsApp, type ConfigsApp } from '../../../test/support/configs-app.ts';
import { builtInPlugins } from '../../plugins/built-in/registry.ts';
import { exitCodes } from '../exit-codes.ts';

let configs: ConfigsApp;
let folder: string;
let env: Record<string, string>;
let root: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-plan-file-'));
  configs = await startConfigsApp({ plugins: builtInPlugins });
  await configs.app.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = configs.app.app.server.address() as AddressInfo;
  env = { MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_API_KEY: await configs.app.key() };
  root = `/api/projects/${configs.app.project.id}/tracking_plan/`;
});
afterEach(async () => {
  await configs[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const file = (): string => join(folder, 'millrace.yaml');
const run = (...args: readonly string[]): Promise<Finished> => runCommand([...args, '--file', file()], { env });

async function call(method: 'GET' | 'PUT', payload?: object | string) {
  const headers = { authorization: `Bearer ${env['MILLRACE_API_KEY']}`, 'content-type': 'application/json' };
  return (await configs.app.inject({ method, url: root, headers, ...(payload && { payload }) })).json();
}

async function writePlan(tracking_plan: unknown): Promise<void> {
  const { name } = configs.app.project;
  await writeFile(file(), stringify({ version: 1, projects: [{ name, tracking_plan }] }));
}

const plan = {
  unplanned_events: 'warn',
  unplanned_properties: 'allow',
  policy: 'drop',
  events: [{ name: 'Käufe "a"', schema: { properties: { price: { type: 'number' } }, required: ['price'] } }],
};

describe('a tracking plan in a configuration file', () => {
  it('is exported, and applied to a service without it; applying it again changes nothing', async () => {
    await call('PUT', plan);
    expect((await run('export')).code).toBe(0);
    const { projects } = parse(await readFile(file(), 'utf8')) as { projects: { tracking_plan: unknown }[] };
    expect(projects[0]?.tracking_plan).toEqual(plan);
    expect((await run('diff')).code).toBe(0);
    await call('PUT', {});
    const diff = await run('diff');
    expect(diff.code).toBe(exitCodes.differences.code);
    expect(diff.stdout).toContain('+ "Käufe "a""');
    expect(diff.stdout).toContain('~ policy: "warn" → "drop"');
    expect((await run('apply', '--yes')).code).toBe(0);
    expect((await call('GET')).plan).toEqual(plan);
    expect((await run('apply', '--yes')).stderr).toContain('no differences');
    expect((await call('GET')).version).toBe(3);
  });

  it('is removed by null, and stays as it is without the key', async () => {
    await call('PUT', plan);
    await writeFile(file(), stringify({ version: 1, projects: [{ name: configs.app.project.name }] }));
    expect((await run('diff')).code).toBe(0);
    await writePlan(null);
    expect((await run('apply', '--yes')).code).toBe(0);
    expect((await call('GET')).plan).toBeNull();
  });

  it('that is invalid is refused with line and place, without a service', async () => {
    await writePlan({ policy: 'drop', events: [{ name: 'a', schema: { properties: { 'p.q': { type: 'text' } } } }] });
    const { code, stderr } = await runCommand(['validate', '--file', file()], { env: {} });
    expect(code).toBe(exitCodes.invalidConfig.code);
    expect(stderr).toMatch(
      /millrace\.yaml:\d+:\d+: projects\.0\.tracking_plan\.events\.0: schema\.properties\.p\.q\.type: expected/,
    );
  });

  it('whose numbers YAML does not keep is not exported, with a hint', async () => {
    await call('PUT', '{"events":[{"name":"n","schema":{"properties":{"id":{"const":12345678901234567890}}}}]}');
    const { stderr } = await run('export');
    expect(stderr).toContain('YAML does not keep all digits');
    expect(await readFile(file(), 'utf8')).not.toContain('tracking_plan');
  });
});
