import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandProcess } from './command-process.ts';
import { CommandError } from './exit-codes.ts';

/** What somebody made of a text; its file goes when this is disposed. */
export interface Edited extends AsyncDisposable {
  readonly text: string;
  /** The file stays, and this is its path. */
  keep(): string;
}

/** Opens a text in the editor of whoever sits there. `name`: of the file, by which editors know its language. Errors: failed. */
export async function editText({ env }: Pick<CommandProcess, 'env'>, text: string, name: string): Promise<Edited> {
  // For this user alone.
  const folder = await mkdtemp(join(tmpdir(), 'millrace-edit-'));
  const path = join(folder, name);
  const { VISUAL: visual, EDITOR: plain } = env;
  const editor = visual || plain || 'vi';
  let isKept = false;
  const dispose = async (): Promise<void> => {
    if (!isKept) await rm(folder, { recursive: true, force: true });
  };
  try {
    await writeFile(path, text, { mode: 0o600 });
    // By the shell, for an editor may have options: EDITOR="code --wait".
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new CommandError('failed', `${editor} ended with ${code ?? 'a signal'}: nothing was changed`);
    return {
      text: await readFile(path, 'utf8'),
      keep: () => {
        isKept = true;
        return path;
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}
