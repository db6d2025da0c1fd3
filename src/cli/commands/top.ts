import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { ProjectStatus } from '../../wire/contract/status.ts';
import { addServiceOptions, projectApi, type ApiOptions } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { countOf } from '../read-arguments.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';
import { showProject } from './status.ts';

interface Options extends ApiOptions {
  readonly every: string;
  readonly times?: string;
}

/** Moves to the upper left corner and clears the screen. */
const clear = '\u001b[H\u001b[J';

export function topCommand(parent: Command, terminal: Terminal): void {
  addServiceOptions(parent.command('top'))
    .option('--every <seconds>', 'interval', '2')
    .option('--times <number>', 'end after this many updates')
    .action((options: Options) => runUntilStopped(terminal.process, (signal) => watch(terminal, options, signal)));
}

async function watch(terminal: Terminal, options: Options, signal: AbortSignal): Promise<void> {
  const api = projectApi(options);
  const seconds = countOf('--every', options.every, 1);
  const times = options.times === undefined ? Number.POSITIVE_INFINITY : countOf('--times', options.times, 1);
  const { stdout } = terminal.process;
  for (let time = 1; ; time++) {
    const status = await poll(() => api.get<ProjectStatus>(`${api.root}/status/`), time === 1);
    if (stdout.isTTY === true) stdout.write(clear);
    terminal.data(`${new Date().toISOString()}  ${api.url}`);
    if (typeof status === 'string') terminal.problem(status);
    else showProject(terminal, status);
    if (time >= times) return;
    await sleep(seconds * 1000, undefined, { signal });
  }
}

/** Returns the reason while the service is unreachable; the first poll must succeed. */
async function poll(get: () => Promise<ProjectStatus>, isFirst: boolean): Promise<ProjectStatus | string> {
  try {
    return await get();
  } catch (error) {
    const isAway = error instanceof CommandError && ['unreachable', 'rateLimited'].includes(error.reason);
    if (isFirst || !isAway) throw error;
    return error.message;
  }
}
