import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../../../test/support/command.ts';

const answers: Readonly<Record<string, readonly object[]>> = {
  '/api/projects/': [
    { id: 1, name: 'First' },
    { id: 22, name: 'Tab\there' },
  ],
  '/api/projects/@current/pipeline_transformation_configs/': [{ id: 31, name: 'GeoIP' }],
  '/api/projects/@current/pipeline_import_apps_configs/': [{ id: 32, name: 'Mixpanel' }],
  '/api/projects/7/pipeline_transformation_configs/': [{ id: 71, name: 'Other' }],
  '/api/projects/7/pipeline_import_apps_configs/': [],
  '/api/projects/@current/import_runs/': [
    { id: 'r-1', plugin_config: 32, state: 'running', created_at: 't1' },
    { id: 'r-2', plugin_config: 33, state: 'completed', created_at: 't2' },
  ],
};

let dir: string;
let server: Server;
let env: Record<string, string>;
const seen: string[] = [];
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'millrace-complete-'));
  server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://here');
    seen.push(`${request.headers.authorization} ${pathname}`);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ next: null, results: answers[pathname] ?? [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  env = { MILLRACE_URL: `http://127.0.0.1:${port}`, MILLRACE_API_KEY: 'phx_mine', XDG_CONFIG_HOME: dir };
});
afterAll(() => {
  server.close();
  rmSync(dir, { recursive: true, force: true });
});

const ids = async (kind: string, words: string): Promise<string[]> => {
  const { stdout } = await runCommand(['complete-ids', kind, '--', ...words.split(' ')], { env });
  return stdout === '' ? [] : stdout.trimEnd().split('\n');
};

it.each([
  ['projects', 'status --project', ['1\tFirst', '22\tTab here']],
  ['configs', 'configs show', ['31\tGeoIP', '32\tMixpanel']],
  ['configs', 'configs show --project 7', ['71\tOther']],
  ['configs', 'configs show --project=7 --api-key', ['71\tOther']],
  ['runs', 'import undo', ['r-1\trunning, t1', 'r-2\tcompleted, t2']],
  ['runs', 'import watch --config 32 --run', ['r-1\trunning, t1']],
  ['profiles', 'status --profile', []],
])('ids of %s after "millrace %s"', async (kind, words, expected) => {
  expect(await ids(kind, words)).toEqual(expected);
});

it('a service is queried only with the keys of the typed profile', async () => {
  const { MILLRACE_URL: url = '' } = env;
  const own = { XDG_CONFIG_HOME: dir };
  await runCommand(['profiles', 'add', 'used', '--url', 'http://127.0.0.1:1', '--api-key', 'phx_used', '--use'], {
    env: own,
  });
  await runCommand(['profiles', 'add', 'bare', '--url', url], { env: own });
  seen.length = 0;
  const words = ['complete-ids', 'projects', '--', 'status', '--profile', 'bare', '--project'];
  expect((await runCommand(words, { env: own })).stdout).toContain('22\t');
  expect(seen).toEqual(['undefined /api/projects/']);
  expect(await ids('profiles', 'status --profile')).toEqual(['used\thttp://127.0.0.1:1', `bare\t${url}`]);
});

it('bash requests ids only where they are allowed', async () => {
  const script = (await runCommand(['completion', 'bash'])).stdout;
  expect(script).not.toContain("'complete-ids'");
  const complete = async (...words: string[]): Promise<string[]> => {
    const typed = words.map((word) => `'${word}'`).join(' ');
    const text = [
      // In place of the command: what it was asked, as an id.
      'millrace() { printf "id-%s\\tlabel\\n" "$(IFS=+; printf "%s" "$*")"; }',
      script,
      `COMP_WORDS=(millrace ${typed}); COMP_CWORD=${words.length}`,
      '_millrace; printf \'%s\\n\' "${COMPREPLY[@]}"',
    ].join('\n');
    const { stdout } = await promisify(execFile)('bash', ['-c', text]);
    return stdout.trim().split('\n');
  };
  expect(await complete('configs', 'show', 'id')).toEqual(['id-complete-ids+configs+--+configs+show']);
  expect(await complete('import', 'watch', '--run', 'id')).toEqual(['id-complete-ids+runs+--+import+watch+--run']);
  expect(await complete('projects', 'delete', 'id')).toEqual(['id-complete-ids+projects+--+projects+delete']);
  expect(await complete('profiles', 'use', 'id')).toEqual(['id-complete-ids+profiles+--+profiles+use']);
  expect(await complete('configs', 'show', '--prof')).toEqual(['--profile']);
  expect(await complete('profiles', 'add', 'id')).not.toContain('id-complete-ids+profiles+--+profiles+add');
});
