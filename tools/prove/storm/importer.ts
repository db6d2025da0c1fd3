/** Imports by the command line, one after the other: each a process that is killed and started again until it is done. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ageFile } from '../../../test/support/age-files.ts';
import type { StormEvent } from './events.ts';
import type { StormLedger } from './ledger.ts';
import { program, proofKeys } from '../one-machine/service.ts';

export interface Importer {
  /** Kills the current process with kill -9 and restarts it; returns false if none runs. */
  kill(): boolean;
  /** The import that runs is finished, and no other one begins. */
  stop(): Promise<void>;
}

export interface ImporterOptions {
  readonly url: string;
  /** Its own. */
  readonly dir: string;
  readonly nextEvents: () => readonly StormEvent[];
}

/** Every event is stored with its id, time and name; the storm's transformation has changed its properties, which the ledger compares. */
const doneCode = 9;
/** It waited half a minute for acknowledged events that were not stored yet: another run compares again. */
const comparedEarlyCode = 7;
const fileName = 'export.ndjson.gz';
const againMs = 500;
/** Beside kills: attempts that end because the service is away, of one import. */
const attemptsMax = 200;
const saidMax = 4000;

export function startImporter({ url, dir, nextEvents }: ImporterOptions, ledger: StormLedger): Importer {
  let child: ChildProcess | undefined;
  const stopping = new AbortController();
  process.once('exit', () => child?.kill('SIGKILL'));
  const attempt = async (dir: string, isAnew: boolean): Promise<Attempt> => {
    const command = [program, ...commandOf(dir, url), ...(isAnew ? ['--again'] : [])];
    child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = await untilEnd(child);
    child = undefined;
    return ended;
  };
  const work = (async () => {
    for (let number = 1; !stopping.signal.aborted; number += 1) {
      await importOne(join(dir, String(number)), nextEvents(), attempt, ledger);
    }
  })();
  // Settled by `stop`; until then it is not awaited.
  work.catch(() => undefined);
  return {
    kill: () => child?.kill('SIGKILL') ?? false,
    stop: async () => {
      stopping.abort();
      await work;
    },
  };
}

interface Attempt {
  readonly code: number | null;
  readonly said: string;
}

async function importOne(
  dir: string,
  events: readonly StormEvent[],
  attempt: (dir: string, isAnew: boolean) => Promise<Attempt>,
  ledger: StormLedger,
): Promise<void> {
  await mkdir(dir, { recursive: true });
  const file = join(dir, fileName);
  await writeFile(file, gzipSync(`${events.map((event) => JSON.stringify(event)).join('\n')}\n`));
  await ageFile(file);
  let last: Attempt | undefined;
  for (let attempts = 0; attempts < attemptsMax; attempts += 1) {
    last = await attempt(dir, last?.code === comparedEarlyCode);
    if (last.code === doneCode) {
      ledger.noteImported(events);
      return rm(dir, { recursive: true, force: true });
    }
    await sleep(againMs);
  }
  throw new Error(
    `expected the import to end well in ${attemptsMax} attempts, the last one ended with ${last?.code}: ${last?.said}`,
  );
}

function commandOf(dir: string, url: string): string[] {
  const place = ['import', 'posthog', join(dir, fileName), '--to', url, '--state-dir', join(dir, 'state'), '--json'];
  // So small an import finishes sooner without preflight checks and with one thread.
  const quick = ['--no-preflight', '--threads', '1'];
  return [...place, ...quick, '--project-key', proofKeys.project, '--api-key', proofKeys.personal];
}

async function untilEnd(child: ChildProcess): Promise<Attempt> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-saidMax)));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}
