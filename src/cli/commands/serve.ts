import type { Command } from 'commander';
import type { Settings } from '../../server/config/settings.ts';
import type { StartedService } from '../../main.ts';
import { defaultUrl } from '../api-options.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import { stopSignal } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';

/** In addition to the time in which requests are drained. */
const closeMsMax = 10_000;

export function serveCommand(parent: Command, terminal: Terminal): void {
  addSettingOptions(parent.command('serve')).action(async (options: Readonly<Record<string, unknown>>) => {
    const { settings, notes } = settingsFrom(options, terminal.process);
    for (const note of notes) terminal.note(note);
    const stop = stopSignal(terminal.process);
    // Only this command loads the whole service.
    const { createMillrace } = await import('../../main.ts');
    const millrace = createMillrace(settings);
    try {
      const started = await millrace.start().catch((error: unknown) => {
        throw listenError(error, settings);
      });
      for (const line of greeting(started)) terminal.data(line);
      await untilAborted(stop.signal);
      terminal.note('stopping; a second signal stops immediately');
    } finally {
      await closeInTime(() => millrace.close(), settings.drainMs + closeMsMax, terminal);
      millrace.log.info('stopped');
    }
    // A service that stopped on request has not failed.
    stop.release();
  });
}

/** Returns what the user needs next: all of it until the first sign-in, later only how to sign in again. */
export function greeting({ url, firstStart }: StartedService): string[] {
  // The other commands use the default address otherwise.
  const address = url === defaultUrl ? [] : [`  Other commands     export MILLRACE_URL=${url}`];
  if (firstStart === undefined)
    return [`Millrace is ready at ${url}`, ...address, '  Sign in again      npx millrace login'];
  return [
    `Millrace is ready at ${url}`,
    '',
    `  Project key        ${firstStart.projectKey}`,
    `  Console            ${firstStart.loginUrl}  (works once, for 30 minutes)`,
    '  Personal API key   npx millrace keys create',
    ...address,
    '  Tour               docs/tour.md',
    '',
  ];
}

/** Explains why the service cannot listen. */
function listenError(error: unknown, { host, port }: Settings): unknown {
  const { code } = error as NodeJS.ErrnoException;
  const advice = 'choose another with --port or MILLRACE_PORT';
  if (code === 'EADDRINUSE')
    return new CommandError('failed', `port ${port} of ${host} is taken; ${advice}`, { cause: error });
  if (code === 'EACCES')
    return new CommandError('failed', `port ${port} of ${host} is not allowed; ${advice}`, { cause: error });
  return error;
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** Waits until the service has closed. After `timeoutMs` it reports that and ends the process with 1, instead of hanging forever. */
export async function closeInTime(
  close: () => Promise<void>,
  timeoutMs: number,
  terminal: Pick<Terminal, 'problem' | 'process'>,
): Promise<void> {
  const timer = setTimeout(() => {
    terminal.problem(`did not stop within ${timeoutMs / 1000} s, so it ends as after a crash; the next start recovers`);
    terminal.process.exit(exitCodes.failed.code);
  }, timeoutMs);
  try {
    await close();
  } finally {
    clearTimeout(timer);
  }
}
