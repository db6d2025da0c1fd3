/** The README as a newcomer follows it: every block that is for the shell, as written, with the real program in processes of its own. */
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { root } from '../support/page-blocks.ts';
import { shareOf } from '../support/page-commands.ts';
import { freePort, tempDataDir } from '../support/server.ts';
import { openTerminal } from '../support/terminal.ts';

const readyMs = 60_000;

interface Started {
  readonly projectKey: string;
  stop(): Promise<number | null>;
}

/** `npm start`, until it says that it is ready. */
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
      const [, key] = /Project key\s+(phc_\w+)[^]*First history/.exec(printed) ?? [];
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

/** What the README takes for granted that somebody has. */
async function writeFiles(folder: string): Promise<void> {
  const code = 'export function processEvent(event) { event.properties.seen = true; return event; }\n';
  await writeFile(join(folder, 'my-plugin.js'), code);
  await writeFile(
    join(folder, 'event.json'),
    JSON.stringify({ event: 'signed up', distinct_id: 'ada', properties: {} }),
  );
  await mkdir(join(folder, 'my-plugin'));
  await writeFile(join(folder, 'my-plugin/index.js'), code);
  await writeFile(join(folder, 'my-plugin/plugin.json'), JSON.stringify({ name: 'My plugin', main: 'index.js' }));
}

it('the README can be followed word by word: every block runs and shows what it promises', async () => {
  await using folder = await tempDataDir();
  await writeFiles(folder.path);
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
  // The first line of one is what installed this checkout, the other is what runs this test.
  expect(blockOf('Start')).toBe('npm ci\nnpm start\n');
  expect(blockOf('Test')).toBe('npm cit\n');
  expect(share.take({ page: 'docs/index.md' }).join('')).toBe(blockOf('Start'));
  const service = await npmStart(env);
  const words = `npx() { shift; "${process.execPath}" "${join(root, 'bin/millrace.js')}" "$@"; }\n`;
  // In a folder of one's own, so that nothing is left in the checkout.
  await using terminal = await openTerminal({ cwd: folder.path, env, words });
  const run = (block: string): Promise<string> =>
    terminal.run(
      block.replaceAll('<project key>', service.projectKey).replaceAll('127.0.0.1:8000', `127.0.0.1:${port}`),
    );
  const follow = (heading: string): Promise<string> => run(blockOf(heading));
  /** What is accepted may be stored a moment later; a person would look again. */
  const untilShown = (command: string, wanted: RegExp): Promise<void> =>
    expect.poll(() => run(command), { timeout: 60_000, interval: 500 }).toMatch(wanted);
  try {
    expect(await follow('A first event')).toContain('{"status":"Ok"}');
    expect(await run('echo "$MILLRACE_API_KEY"')).toMatch(/^phx_/);
    await untilShown('npx millrace events list', /signed up\s+ada/);
    await follow('A first history');
    await untilShown('npx millrace events counts --interval month', /2021-03-01\S*\s+Order Done/);
    expect(await follow('Years of history, exactly once')).toContain('verify exact: All 4 events of 2 days are stored');
    expect(await follow('A transformation of your own')).toContain('+ /properties/seen: true');
    expect(share.left()).toEqual([]);
  } finally {
    expect(await service.stop()).toBe(0);
  }
}, 240_000);
