import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { createApiClient } from '../api-client.ts';
import { CommandError } from '../exit-codes.ts';
import type { Terminal } from '../terminal.ts';

const checkedIn = new URL('../../../docs/reference/openapi.json', import.meta.url);

/** The description of the API: this version's own, or that of a running service. */
export function openapiCommand(parent: Command, terminal: Terminal): void {
  parent
    .command('openapi')
    .addOption(new Option('--url <url>', 'ask a running service instead of printing this version’s own'))
    .description('print the OpenAPI description of the management API')
    .action(async ({ url }: { url?: string }) => {
      if (url !== undefined) return terminal.json(await createApiClient(url, undefined).get('/api/openapi.json'));
      terminal.data(ownDescription());
    });
}

function ownDescription(): string {
  try {
    return readFileSync(checkedIn, 'utf8').trimEnd();
  } catch (cause) {
    const message = 'this installation has no docs/reference/openapi.json; ask a running service with --url';
    throw new CommandError('failed', message, { cause });
  }
}
