import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { identityOf, identityOfCheck } from './identity.ts';
import { lockImport } from './local-store.ts';
import type { ImportRequest } from './request.ts';
import { newestImport, type ImportDir } from './state-dir.ts';

/** The import that a command is about. */
export interface OwnImport {
  readonly identity: string;
  /** With which the command continues; undefined: nothing was begun. */
  readonly begun: ImportDir | undefined;
  /** `begun` is a check that knew of no target. */
  readonly isCheck: boolean;
}

/** One that the same command has begun comes before a check of the same records. */
export async function findOwnImport(stateDir: string, request: ImportRequest): Promise<OwnImport> {
  const identity = identityOf(request);
  const begun = await newestImport(stateDir, identity);
  if (begun !== undefined) return { identity, begun, isCheck: false };
  const ofCheck = identityOfCheck(request);
  const check = await newestImport(stateDir, ofCheck);
  if (request.options.last === 'check') return { identity: ofCheck, begun: check, isCheck: false };
  return { identity, begun: check, isCheck: check !== undefined };
}

/**
 * Makes a check the import that continues it, so that nothing is exported or checked twice. Errors: CommandError failed, when another
 * process is at work on it.
 */
export async function takeOverCheck(check: ImportDir, identity: string): Promise<void> {
  using _lock = lockImport(check);
  const path = join(resolve(check.stateDir), identity);
  // A command that was killed before it began has left it.
  if (!existsSync(path)) await rename(check.path, path);
}
