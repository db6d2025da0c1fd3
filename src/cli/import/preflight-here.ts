import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { PreflightCheckName, PreflightResult } from '../../wire/contract/import-preflight.ts';
import { assemblePreflight } from '../../imports/assemble.ts';
import type { OpenRunTransform } from '../../imports/stages/check/segment/run-transform.ts';
import type { Staging } from '../../imports/staging.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';
import { openParts } from './engine.ts';
import { openLocalStaging } from './local-store.ts';
import { openSource } from './open-source.ts';
import type { ImportRequest } from './request.ts';

interface PreflightHere {
  readonly request: ImportRequest;
  readonly openTransform: OpenRunTransform | undefined;
  readonly stateDir: string;
  readonly limitMs: number;
  /** Checks to skip. */
  readonly without?: readonly PreflightCheckName[];
}

/** Checks what an import needs and leaves nothing behind. Errors: CommandError usage, when the settings of the source are invalid; interrupted. */
export async function preflightHere(
  terminal: Terminal,
  { request, openTransform, stateDir, limitMs, without = [] }: PreflightHere,
): Promise<PreflightResult> {
  await using made = new AsyncDisposableStack();
  const temp = await mkdtemp(join(tmpdir(), 'millrace-preflight-'));
  made.defer(() => remove(temp));
  const place = await openPlace(resolve(stateDir), made);
  const { source, close } = openSource(request, temp);
  made.defer(close);
  const parts = openParts({ id: 'preflight', staging: place.dir }, request, {
    source,
    staging: place.staging,
    openTransform,
  });
  return await runUntilStopped(terminal.process, (signal) =>
    assemblePreflight({ ...parts, timeLimitMs: limitMs })({ options: request.options, without, signal }),
  );
}

interface Place {
  readonly staging: Staging;
  readonly dir: string;
}

/** Creates a directory next to those of imports; if that fails, returns a staging that rejects with the reason. */
async function openPlace(stateDir: string, made: AsyncDisposableStack): Promise<Place> {
  const description = `the directory ${stateDir}`;
  try {
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    const dir = await mkdtemp(join(stateDir, 'preflight-'));
    made.defer(() => remove(dir));
    return { staging: { ...(await openLocalStaging({ staging: dir })), description }, dir };
  } catch (error) {
    const refuse = (): Promise<never> => Promise.reject(error instanceof Error ? error : new Error(String(error)));
    const staging: Staging = {
      description,
      write: refuse,
      read: async function* () {
        yield await refuse();
      },
      list: refuse,
      remove: refuse,
    };
    return { staging, dir: tmpdir() };
  }
}

/** Retries, because a check that exceeded the time limit may still write a file. */
function remove(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true, maxRetries: 10 });
}
