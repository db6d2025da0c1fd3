import type { Command } from 'commander';
import type { Settings } from '../../server/config/settings.ts';
import type { StartedService } from '../../main.ts';
import { defaultUrl } from '../api-options.ts';
import { closeInTime } from '../close-in-time.ts';
import { CommandError } from '../exit-codes.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import { stopSignal } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';

/** Beyond the time in which requests are still taken. */
const closeMsMax = 10_000;

export function serveCommand(parent: Command, terminal: Terminal): void {
  addSettingOptions(parent.command('serve'))
    .description('run the service')
    .action(async (options: Readonly<Record<string, unknown>>) => {
      const { settings, notes } = settingsFrom(options, terminal.process);
      for (const note of notes) terminal.note(note);
      const stop = stopSignal(terminal.process);
      // The whole service is loaded here and not for the other commands.
      const { createMillrace } = await import('../../main.ts');
      const millrace = createMillrace(settings);
      try {
        const started = await millrace.start().catch((error: unknown) => {
          throw listening(error, settings);
        });
        for (const line of greeting(started)) terminal.data(line);
        await untilAborted(stop.signal);
        terminal.note('stopping; a second signal stops at once');
      } finally {
        await closeInTime(() => millrace.close(), settings.drainMs + closeMsMax, terminal);
        millrace.log.info('stopped');
      }
      // A service that was asked to stop, and did, has not failed.
      stop.release();
    });
}

/** What a person needs next: all of it until the first sign-in, later the way to sign in again. */
export function greeting({ url, firstStart }: StartedService): string[] {
  if (firstStart === undefined) return [`Millrace is ready at ${url}`, '  Sign in again      npx millrace login'];
  return [
    `Millrace is ready at ${url}`,
    '',
    `  Project key        ${firstStart.projectKey}`,
    `  Console            ${firstStart.loginUrl}  (works once, for 30 minutes)`,
    '  Personal API key   npx millrace keys create',
    // The other commands look for the service there unless told otherwise.
    ...(url === defaultUrl ? [] : [`  Other commands     export MILLRACE_URL=${url}`]),
    '  First history      docs/guides/first-history.md',
    '',
  ];
}

/** What keeps the service from listening, in words. */
function listening(error: unknown, { host, port }: Settings): unknown {
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
