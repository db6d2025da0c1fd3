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
import { program, stormKeys } from './service.ts';

export interface Importer {
  /** kill -9 of the process that runs now; false: there is none. It is started again. */
  kill(): boolean;
  /** The import that runs is finished, and no other one begins. */
  stop(): Promise<void>;
}

export interface ImporterOptions {
  readonly url: string;
  /** Of its own. */
  readonly dir: string;
  readonly nextEvents: () => readonly StormEvent[];
}

/** Every event is stored with its id, time and name; the storm's transformation has changed its properties, which the ledger compares. */
const doneCode = 9;
const againMs = 500;
/** Beside kills: attempts that end because the service is away, of one import. */
const attemptsMax = 200;
const saidMax = 4000;

export function startImporter({ url, dir, nextEvents }: ImporterOptions, ledger: StormLedger): Importer {
  let child: ChildProcess | undefined;
  let isStopped = false;
  process.once('exit', () => child?.kill('SIGKILL'));
  const attempt = async (file: string, state: string): Promise<Attempt> => {
    child = spawn(process.execPath, [program, ...commandOf(file, state, url)], { stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = await untilEnd(child);
    child = undefined;
    return ended;
  };
  const work = (async () => {
    for (let number = 1; !isStopped; number += 1) {
      await importOne(join(dir, String(number)), nextEvents(), attempt, ledger);
    }
  })();
  // Told by `stop`; until then nobody waits for it.
  work.catch(() => undefined);
  return {
    kill: () => child?.kill('SIGKILL') ?? false,
    stop: async () => {
      isStopped = true;
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
  attempt: (file: string, state: string) => Promise<Attempt>,
  ledger: StormLedger,
): Promise<void> {
  await mkdir(dir, { recursive: true });
  const file = join(dir, 'export.ndjson.gz');
  await writeFile(file, gzipSync(`${events.map((event) => JSON.stringify(event)).join('\n')}\n`));
  await ageFile(file);
  let last = '';
  for (let attempts = 0; attempts < attemptsMax; attempts += 1) {
    const { code, said } = await attempt(file, join(dir, 'state'));
    last = `${code}: ${said}`;
    if (code === doneCode) {
      ledger.noteImported(events);
      return rm(dir, { recursive: true, force: true });
    }
    await sleep(againMs);
  }
  throw new Error(`expected the import to end well in ${attemptsMax} attempts, the last one ended with ${last}`);
}

function commandOf(file: string, state: string, url: string): string[] {
  const place = ['import', 'posthog', file, '--to', url, '--state-dir', state, '--json'];
  return [...place, '--project-key', stormKeys.project, '--api-key', stormKeys.personal];
}

async function untilEnd(child: ChildProcess): Promise<Attempt> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-saidMax)));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, said };
}
