import { constants, existsSync } from 'node:fs';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { CommandProcess, Terminal } from '../terminal.ts';

/**
 * State directories of this user's imports. The default one is below the working directory, so an import from elsewhere would not find
 * the earlier imports of the same records without this list.
 */
const listName = 'import-state-dirs';

/** Returns the file in the user's state directory ($XDG_STATE_HOME, otherwise ~/.local/state), if the process has one. */
function listFile({ env }: CommandProcess): string | undefined {
  const { XDG_STATE_HOME: state = '', HOME: home = '' } = env;
  const dir = state === '' && home !== '' ? join(home, '.local', 'state') : state;
  return dir === '' ? undefined : join(dir, 'millrace', listName);
}

/** Adds a state directory to the list. Notes if the list cannot be written; the import does not need it. */
export async function recordStateDir(terminal: Terminal, stateDir: string): Promise<void> {
  const file = listFile(terminal.process);
  const dir = resolve(stateDir);
  if (file === undefined || dir.includes('\n')) return;
  try {
    const known = await listed(file);
    if (known.includes(dir)) return;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${process.pid}`;
    await writeFile(draft, [...known.filter((each) => existsSync(each)), dir, ''].join('\n'), { mode: 0o600 });
    await rename(draft, file);
  } catch (error) {
    terminal.note(`imports from other directories will not find this one: ${(error as Error).message}`);
  }
}

/** Returns the other state directories that exist and are readable. */
export async function otherStateDirs({ process }: Terminal, stateDir: string): Promise<readonly string[]> {
  const file = listFile(process);
  if (file === undefined) return [];
  const others = new Set(await listed(file));
  others.delete(resolve(stateDir));
  const readable = await Promise.all([...others].map(isReadable));
  return [...others].filter((_, at) => readable[at]);
}

async function listed(file: string): Promise<readonly string[]> {
  try {
    return (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

async function isReadable(dir: string): Promise<boolean> {
  return access(dir, constants.R_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
