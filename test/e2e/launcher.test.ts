import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort, tempDataDir } from '../support/server.ts';

// Real: the command under an older Node, where there is one, which starts the program with the Node of the package.

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));
const olderNode = ['/usr/bin/node', '/usr/local/bin/node'].find((path) => existsSync(path));

it.skipIf(olderNode === undefined)(
  'a launcher that is killed takes the service with it (skipped where no other Node is installed)',
  async () => {
    await using data = await tempDataDir();
    const port = await freePort();
    const launcher = spawn(olderNode ?? '', [program, 'serve'], {
      env: { PATH: process.env['PATH'], MILLRACE_PORT: String(port), MILLRACE_DATA_DIR: data.path },
      stdio: 'ignore',
    });
    onTestFinished(() => void launcher.kill('SIGKILL'));
    const isUp = (path: string): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        (answer) => answer.ok,
        () => false,
      );
    await expect.poll(() => isUp('/readyz'), { interval: 100 }).toBe(true);
    launcher.kill('SIGKILL');
    await expect.poll(() => isUp('/livez'), { interval: 100 }).toBe(false);
  },
);

it('a checkout is built once, and not without the development packages, which is said', async () => {
  await using checkout = await tempDataDir();
  const tools = fileURLToPath(new URL('../../tools/', import.meta.url));
  mkdirSync(join(checkout.path, 'tools'));
  for (const name of ['prepare.js', 'trim-packages.js'])
    copyFileSync(join(tools, name), join(checkout.path, 'tools', name));
  const prepare = (command: string): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [join(checkout.path, 'tools/prepare.js')], {
      env: { npm_command: command },
      encoding: 'utf8',
    });
  const notBuilt = { status: 0, stderr: expect.stringContaining('"npm ci" installs them and builds') as string };
  // npx runs `prepare` when it first meets a checkout.
  expect(prepare('exec')).toMatchObject(notBuilt);
  expect(prepare('ci')).toMatchObject(notBuilt);
  mkdirSync(join(checkout.path, 'dist'));
  expect(prepare('exec')).toMatchObject({ status: 0, stderr: '' });
  expect(prepare('ci')).toMatchObject(notBuilt);
});
