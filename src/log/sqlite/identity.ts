import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const idForm = /^[0-9a-f]{16}$/;

function fileOf(dir: string): string {
  return join(dir, 'id');
}

/** Creates the identity of the log in `dir`, unless it has one. Only for the process that holds the directory's lock. */
export function createLogId(dir: string): void {
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

/** Returns undefined if the log in `dir` has no complete identity. Throws when the file cannot be read. */
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
