import type { Command } from 'commander';
import { networkFault } from '../../base/network-fault.ts';
import { checkedUrl } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';
import { addSettingOptions, settingsFrom } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';

/** For container images without curl: exit code 0 when the service is ready. */
export function healthcheckCommand(parent: Command, terminal: Terminal): void {
  addSettingOptions(
    parent.command('healthcheck').argument('[url]', 'default: where `serve` listens with these settings'),
    ['host', 'port'],
  )
    .option('--timeout <seconds>', 'how long to wait for the answer', '5')
    .description('ask a service whether it is ready')
    .action(async (url: string | undefined, options: Readonly<Record<string, unknown>>) => {
      const base = checkedUrl(url ?? localUrl(settingsFrom(options, terminal.process).settings));
      terminal.data(await ready(base, Number(options['timeout']) * 1000));
    });
}

/** Where a process on this machine reaches a service with these settings. */
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
