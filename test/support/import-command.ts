import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ageFile } from './age-files.ts';
import { runCommand, spawnCommand, type Finished, type RunOptions, type SpawnOptions } from './command.ts';

export const count = 5000;

/** A made-up Mixpanel export over ten days; no two events are the same. */
export function mixpanelLines(records = count): string[] {
  return Array.from({ length: records }, (_, index) =>
    JSON.stringify({
      event: `Event ${index % 7}`,
      properties: {
        time: 1_704_067_200 + Math.floor((index * 864_000) / records),
        distinct_id: `u${index % 50}`,
        $insert_id: `evt-${index}`,
        n: index,
      },
    }),
  );
}

/** Imports made-up Mixpanel records with the command, with a separate state directory. */
export interface TestImport extends AsyncDisposable {
  /** Removed with everything in it. */
  readonly dir: string;
  readonly file: string;
  readonly state: string;
  /** In this process. */
  start(url: string, args?: readonly string[], options?: RunOptions): Promise<Finished>;
  /** Default: a new one. */
  spawn(url: string, args?: readonly string[], options?: SpawnOptions): Promise<Finished>;
}

export async function newImport(lines: readonly string[] = mixpanelLines()): Promise<TestImport> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-import-'));
  const file = join(dir, 'export.ndjson.gz');
  await writeFile(file, gzipSync(`${lines.join('\n')}\n`));
  await ageFile(file);
  const state = join(dir, 'state');
  const command = (url: string): string[] => {
    const words = ['import', 'mixpanel', file, '--to', url, '--project-key', 'phc_test'];
    return [...words, '--state-dir', state, '--json'];
  };
  return {
    file,
    dir,
    state,
    // The engine of a command that was killed ends a moment after it.
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true, maxRetries: 10 }),
    start: (url, args = [], options = {}) => runCommand([...command(url), ...args], options),
    spawn: (url, args = [], options = {}) => spawnCommand([...command(url), ...args], options),
  };
}

export interface Line {
  readonly type: string;
  readonly id: string;
  readonly state: string;
  readonly stage: string;
  readonly totals: Readonly<Record<string, unknown>>;
}

export function linesOf({ stdout }: Finished): Line[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

export function resultOf(finished: Finished): Line {
  const result = linesOf(finished).find(({ type }) => type === 'result');
  if (result === undefined) throw new Error(`no result; ${finished.stderr}`);
  return result;
}

export type Kept = readonly Readonly<Record<string, unknown>>[];
export const numbersOf = (kept: Kept): number[] => kept.map((event) => (event['properties'] as { n: number }).n);
export const uuidsOf = (kept: Kept): string[] => kept.map((event) => String(event['uuid']));
export const upTo = (length: number): number[] => Array.from({ length }, (_, index) => index);

/** Events stored once: what a service that tells events by their uuid has in the end. */
export function storedNumbers(kept: Kept): number[] {
  const byUuid = new Map(kept.map((event) => [event['uuid'], (event['properties'] as { n: number }).n]));
  return [...byUuid.values()].toSorted((a, b) => a - b);
}
