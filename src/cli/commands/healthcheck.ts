import { Option, type Command } from 'commander';
import { networkFault } from '../../base/network-fault.ts';
import { checkedUrl } from '../api-client.ts';
import type { CommandProcess, Terminal } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';
import { addProfileOption } from '../profiles/take-profile.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';

/** Options as commander gives them. */
export interface ServiceAddress {
  readonly url?: string;
  readonly host?: string;
  readonly port?: string;
}

/** Ends with exit code 0 when the service is ready, for container images without curl. */
export function healthcheckCommand(parent: Command, terminal: Terminal): void {
  addSettingOptions(
    addUrlOption(
      parent
        .command('healthcheck')
        .argument(
          '[url]',
          'address of the service; default: --url, otherwise where `serve` listens with these settings',
        ),
    ),
    ['host', 'port'],
  )
    .option('--timeout <seconds>', 'how long to wait for the response', '5')
    .action(async (url: string | undefined, options: ServiceAddress & { readonly timeout: string }) => {
      const base = url === undefined ? serviceUrl(options, terminal.process) : checkedUrl(url);
      terminal.data(await ready(base, Number(options.timeout) * 1000));
    });
}

/** Adds `--url`, without which the address is that of the settings. */
export function addUrlOption(command: Command): Command {
  return addProfileOption(command.addOption(new Option('--url <url>', 'address of a service').env('MILLRACE_URL')));
}

/** Returns the address of the service; a host or port given as a flag means this machine, whatever MILLRACE_URL is. Errors: usage, invalidConfig. */
export function serviceUrl(options: ServiceAddress, process: CommandProcess): string {
  const { url, host, port } = options;
  if (url !== undefined && host === undefined && port === undefined) return checkedUrl(url);
  return localUrl(settingsFrom({ ...options }, process).settings);
}

/** Returns where a process on this machine reaches a service with these settings. */
export function localUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

async function ready(base: string, timeoutMs: number): Promise<string> {
  if (!(timeoutMs > 0)) throw new CommandError('usage', '--timeout: expected a number of seconds above 0');
  const response = await fetch(`${base}/readyz`, { signal: AbortSignal.timeout(timeoutMs) }).catch((cause: unknown) => {
    throw new CommandError('unreachable', `cannot reach ${base} (${networkFault(cause)})`, { cause });
  });
  const text = (await response.text()).slice(0, 2000);
  if (!response.ok) throw new CommandError('failed', `${base} is not ready (${response.status}): ${text}`);
  return 'ready';
}
