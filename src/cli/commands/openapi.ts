import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { createApiClient } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

const ownDescriptionUrl = new URL('../../../docs/reference/openapi.json', import.meta.url);

export function openapiCommand(parent: Command, terminal: Terminal): void {
  parent
    .command('openapi')
    .addOption(new Option('--url <url>', 'service whose API description to print; default: that of this version'))
    .action(async ({ url }: { url?: string }) => {
      if (url !== undefined) return terminal.json(await createApiClient(url, undefined).get('/api/openapi.json'));
      terminal.data(ownDescription());
    });
}

function ownDescription(): string {
  try {
    return readFileSync(ownDescriptionUrl, 'utf8').trimEnd();
  } catch (cause) {
    const message = 'docs/reference/openapi.json is missing in this installation; name a running service with --url';
    throw new CommandError('failed', message, { cause });
  }
}
