import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A shell for the blocks of a page: variables set and processes started by one are available to the next. */
export interface Terminal extends AsyncDisposable {
  /** What the block writes to stdout. Rejects with what it wrote to stderr when a command fails or a variable is not set. */
  run(block: string): Promise<string>;
}

export interface TerminalOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shell functions that take the place of commands. */
  readonly words?: string;
}

const endOfBlock = '\n-- end of the block --\n';

export async function openTerminal({ cwd, env, words = '' }: TerminalOptions): Promise<Terminal> {
  const scratch = await mkdtemp(join(tmpdir(), 'millrace-terminal-'));
  const shell = spawn('/bin/sh', ['-eu'], { cwd, env: { ...env } });
  let stdout = '';
  let stderr = '';
  let look = (): void => {};
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    look();
  });
  shell.stderr.setEncoding('utf8').on('data', (text: string) => void (stderr += text));
  // An ended shell accepts nothing more; `closed` reports how it ended.
  shell.stdin.on('error', () => {});
  const closed = new Promise<number | null>((resolve) => shell.once('close', resolve));
  let count = 0;
  const run = async (block: string): Promise<string> => {
    const file = join(scratch, `${(count += 1)}.sh`);
    await writeFile(file, block);
    const from = stdout.length;
    stderr = '';
    // Read from a file: what a command of the block reads is not the rest of the block.
    shell.stdin.write(`. '${file}' </dev/null; printf '${endOfBlock.replaceAll('\n', '\\n')}'\n`);
    const shown = new Promise<string>((resolve) => {
      look = (): void => {
        const end = stdout.indexOf(endOfBlock, from);
        if (end >= 0) resolve(stdout.slice(from, end));
      };
    });
    const ended = closed.then((code) => {
      throw new Error(`expected that each command succeeds, one ended with ${code}: ${stderr}\nof the block\n${block}`);
    });
    return Promise.race([shown, ended]);
  };
  await run(words);
  return {
    run,
    async [Symbol.asyncDispose]() {
      shell.stdin.end();
      await closed;
      await rm(scratch, { recursive: true, force: true });
    },
  };
}
