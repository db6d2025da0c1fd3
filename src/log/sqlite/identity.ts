import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const idForm = /^[0-9a-f]{16}$/;

function fileOf(dir: string): string {
  return join(dir, 'id');
}

/** Gives the log in `dir` its identity, unless it has one. Only for the process that holds the directory's lock. */
export function makeLogId(dir: string): void {
  if (readLogId(dir) !== undefined) return;
  const unfinished = `${fileOf(dir)}.new`;
  const file = openSync(unfinished, 'w');
  try {
    writeSync(file, `${randomBytes(8).toString('hex')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(unfinished, fileOf(dir));
}

/** Undefined: the log in `dir` has no identity yet, or not a whole one. Throws when the file cannot be read. */
export function readLogId(dir: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(fileOf(dir), 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  return idForm.test(text) ? text : undefined;
}
