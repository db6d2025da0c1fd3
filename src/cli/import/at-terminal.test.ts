import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { startEndpoint } from '../../../test/support/capture-endpoint.ts';
import { count, newImport, storedNumbers, upTo, type TestImport } from '../../../test/support/import-command.ts';

const bin = fileURLToPath(new URL('../../../bin/millrace.js', import.meta.url));
// Of util-linux; elsewhere there is another program of this name.
const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true;
const reason = hasTerminal ? '' : ' (skipped: there is no util-linux script)';

interface Seen {
  readonly code: number | null;
  /** Everything written to the terminal. */
  readonly screen: string;
}

/** Runs the command at a separate terminal, without --json, as a user does. */
function atTerminal(
  made: TestImport,
  args: readonly string[],
  onScreen: (screen: string, child: ChildProcess) => void = () => {},
): Promise<Seen> {
  const command = [process.execPath, bin, 'import', 'mixpanel', made.file, ...args, '--state-dir', made.state];
  // Replaces the shell, which would handle Ctrl-C itself.
  const quoted = `exec ${command.map((word) => `'${word}'`).join(' ')}`;
  const child = spawn('script', ['-qfec', quoted, '/dev/null'], {
    env: { PATH: '/usr/bin:/bin', TERM: 'xterm', SHELL: '/bin/sh' },
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    onScreen(screen, child);
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, screen }));
  });
}

/** Presses the keys once, when this is on the screen. */
function pressAt(text: string, keys: string): (screen: string, child: ChildProcess) => void {
  let isPressed = false;
  return (screen, child) => {
    if (isPressed || !screen.includes(text)) return;
    isPressed = true;
    child.stdin?.write(keys);
  };
}

const ctrlC = '\u0003';
const drawOver = '\r\u001b[K';

describe.skipIf(!hasTerminal).concurrent(`an import at a terminal${reason}`, () => {
  it('redraws one line, Ctrl-C pauses it, and the same command resumes to the end', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport();
    const to = ['--to', endpoint.url, '--project-key', 'phc_test'];
    const paused = await atTerminal(made, [...to, '--speed', '1000'], pressAt('load 3/5  [', ctrlC));
    expect([paused.code, paused.screen]).toEqual([exitCodes.paused.code, expect.stringContaining('paused in load')]);
    // One redrawn line with a bar; completed stages have separate lines.
    expect(paused.screen).toContain(`${drawOver}load 3/5  [`);
    expect(paused.screen).toContain(`${drawOver}export done: 5,000 records\r\n`);
    expect(paused.screen).toContain('pausing; Ctrl-C again ends immediately');
    expect(endpoint.kept.length).toBeLessThan(count);
    const again = await atTerminal(made, to);
    expect([again.code, again.screen]).toEqual([exitCodes.unverified.code, expect.stringContaining('resumes in load')]);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(count));
  });

  it('one Ctrl-C that arrives several times, as through npx, pauses it and prints the command that resumes', async () => {
    await using endpoint = await startEndpoint(() => 'keep');
    await using made = await newImport();
    const to = ['--to', endpoint.url, '--project-key', 'phc_test'];
    const paused = await atTerminal(made, [...to, '--speed', '500'], pressAt('load 3/5  [', ctrlC.repeat(3)));
    expect([paused.code, paused.screen]).toEqual([exitCodes.paused.code, expect.stringContaining('resume it with: ')]);
    const resumed = await atTerminal(made, to);
    expect(resumed.code).toBe(exitCodes.unverified.code);
    expect(storedNumbers(endpoint.kept)).toEqual(upTo(count));
  });
});
