import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort, tempDataDir } from '../support/server.ts';
import { read } from '../source-tree.ts';

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

it('npx, which runs `prepare` when it first meets a checkout, does not build it again', async () => {
  await using folder = await tempDataDir();
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { prepare: string } };
  const prepare = (command: string): number | null =>
    spawnSync('sh', ['-c', scripts.prepare], {
      cwd: folder.path,
      env: { PATH: process.env['PATH'], npm_command: command },
      stdio: 'ignore',
    }).status;
  // A build fails here: the folder has no sources.
  expect(prepare('exec')).not.toBe(0);
  mkdirSync(join(folder.path, 'dist'));
  expect(prepare('exec')).toBe(0);
  expect(prepare('ci')).not.toBe(0);
});
