/** Follows the README as a newcomer does: runs each of its shell blocks as written, with the real program in separate processes. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readBlocks, root } from '../support/page-blocks.ts';
import { shareOf } from '../support/page-commands.ts';
import { freePort, tempDataDir } from '../support/server.ts';
import { openTerminal } from '../support/terminal.ts';

const readyMs = 60_000;

interface Started {
  readonly projectKey: string;
  stop(): Promise<number | null>;
}

/** Runs `npm start` until the service reports that it is ready. */
async function npmStart(env: Readonly<Record<string, string | undefined>>): Promise<Started> {
  const child = spawn('npm', ['start'], { cwd: root, env: { ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let printed = '';
  const ready = new Promise<string>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`expected the service to be ready, it printed: ${printed}`)),
      readyMs,
    );
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      const [, key] = /Project key\s+(phc_\w+)[^]*Tour/.exec(printed) ?? [];
      if (key === undefined) return;
      clearTimeout(timer);
      resolve(key);
    });
  });
  const stop = async (): Promise<number | null> => {
    child.kill('SIGTERM');
    return await exited;
  };
  return { projectKey: await ready.catch((error: unknown) => stop().then(() => Promise.reject(error))), stop };
}

/** The output that the README shows below a heading; `…` replaces what differs from run to run. */
function shownBelow(heading: string): string[] {
  return readBlocks('README.md')
    .filter((block) => block.language === 'text' && block.heading === heading)
    .flatMap(({ text }) => text.trim().split(/[…\n]+/))
    .filter((part) => part !== '');
}

it('the README can be followed word by word: every block runs and shows what it promises', async () => {
  await using folder = await tempDataDir();
  const port = await freePort();
  const env = {
    PATH: process.env['PATH'],
    HOME: folder.path,
    NO_COLOR: '1',
    MILLRACE_PORT: String(port),
    MILLRACE_DATA_DIR: join(folder.path, 'data'),
    MILLRACE_URL: `http://127.0.0.1:${port}`,
  };
  const share = shareOf(import.meta.url);
  const blockOf = (heading: string): string => share.take({ page: 'README.md', heading }).join('');
  // `npm ci` has installed this checkout, and `npm cit` runs this test.
  expect(blockOf('Start')).toBe('npm ci\nnpm start\n');
  expect(blockOf('Test')).toBe('npm cit\n');
  expect(share.take({ page: 'docs/index.md' }).join('')).toBe(blockOf('Start'));
  const service = await npmStart(env);
  const words = `npx() { shift; "${process.execPath}" "${join(root, 'bin/millrace.js')}" "$@"; }\n`;
  // In a separate folder, so that nothing is written to the checkout.
  await using terminal = await openTerminal({ cwd: folder.path, env, words });
  const run = (block: string): Promise<string> =>
    terminal.run(
      block.replaceAll('<project key>', service.projectKey).replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`),
    );
  try {
    for (const heading of ['Send an event', 'Import history']) {
      const output = await run(blockOf(heading));
      expect(shownBelow(heading)).not.toEqual([]);
      for (const part of shownBelow(heading)) expect(output).toContain(part);
    }
    const look = blockOf('Look at your data');
    // What was accepted may be stored a moment later.
    await expect.poll(() => run(look), { interval: 500 }).toMatch(/signed up\s+ada/);
    const output = await run(look);
    for (const part of shownBelow('Look at your data')) expect(output).toContain(part);
    expect(output).toContain('/login?token=');
    expect(share.left()).toEqual([]);
  } finally {
    expect(await service.stop()).toBe(0);
  }
}, 240_000);
