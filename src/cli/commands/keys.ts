import type { Command } from 'commander';
import { isoMicros } from '../../base/clock.ts';
import type { PersonalApiKeyRecord } from '../../wire/contract/keys.ts';
import { allScopes } from '../../wire/contract/scopes.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { addOpenApiOptions, refusedAs, withApi, type OpenApiOptions } from '../open-api.ts';
import { showList, showRecord, showTable, type OutputOptions } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { noProject, projectNumber } from '../project-path.ts';

interface KeyOptions extends OutputOptions, OpenApiOptions {
  readonly yes?: boolean;
  readonly scope?: readonly string[];
  readonly project?: readonly string[];
  readonly expires?: string;
}

type IssuedKey = PersonalApiKeyRecord & { readonly value: string };

const path = '/api/personal_api_keys/';

export function keysCommand(parent: Command, terminal: Terminal): void {
  const keys = parent.command('keys');

  addOpenApiOptions(keys.command('list'))
    .description('list the keys')
    .action(async (options: KeyOptions) => {
      const found = await withApi(options, terminal, (api) => api.get<PersonalApiKeyRecord[]>(path));
      await showList(terminal, options, found, () => showKeys(terminal, found));
    });

  addOpenApiOptions(keys.command('create'))
    .description('create a key and print it; it is never shown again')
    .argument('[label]', 'what the key is for, up to 40 characters', 'Command line')
    .option('--scope <scope...>', `what the key may do: ${allScopes.join(', ')} or *`, ['*'])
    .option('--project <id...>', 'only these projects')
    .option('--expires <when>', 'a time (2027-01-31) or a number of days (90d)')
    .action(async (label: string, { scope: scopes = ['*'], project, expires, ...options }: KeyOptions) => {
      const projects = project?.map((id) => projectNumber(id, '--project: ')) ?? null;
      const body = {
        label,
        scopes,
        scoped_teams: projects,
        expires_at: expires === undefined ? null : expiryOf(expires, Date.now()),
      };
      const issued = await withApi(options, terminal, async (api) => {
        for (const id of projects ?? []) {
          await api.get(`/api/projects/${id}/`).catch(refusedAs(`--project: ${noProject(id)}`));
        }
        return await api.send<IssuedKey>('POST', path, body).catch(refusedAs(''));
      });
      await showIssued(terminal, issued, options);
    });

  changeCommands(keys, terminal);
}

function changeCommands(keys: Command, terminal: Terminal): void {
  addOpenApiOptions(keys.command('roll'))
    .description('give a key a new value and print it; the old value stops working immediately')
    .argument('<id>', 'id of the key, from "keys list"')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: KeyOptions) => {
      await confirm(terminal.process, `Roll key ${id}? Clients that use the old value are locked out.`, options);
      const issued = await withApi(options, terminal, (api) =>
        api.send<IssuedKey>('POST', `${path}${encodeURIComponent(id)}/roll/`, {}).catch(refusedAs(noKey(id))),
      );
      await showIssued(terminal, issued, options);
    });

  addOpenApiOptions(keys.command('delete'))
    .description('delete a key; it stops working immediately')
    .argument('<id>', 'id of the key, from "keys list"')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: KeyOptions) => {
      await confirm(terminal.process, `Delete key ${id}?`, options);
      await withApi(options, terminal, (api) =>
        api.send('DELETE', `${path}${encodeURIComponent(id)}/`).catch(refusedAs(noKey(id))),
      );
      terminal.note(`deleted key ${id}`);
    });
}

async function showIssued(terminal: Terminal, key: IssuedKey, options: KeyOptions): Promise<void> {
  await showRecord(terminal, options, key, () => {
    terminal.data(key.value);
    terminal.note(`key "${key.label}" (scopes: ${key.scopes.join(', ')}); save it now, it is not shown again`);
  });
}

function showKeys(terminal: Terminal, keys: readonly PersonalApiKeyRecord[]): void {
  showTable(terminal, keys, {
    ID: ({ id }) => id,
    LABEL: ({ label }) => label,
    KEY: (key) => key.mask_value,
    SCOPES: ({ scopes }) => scopes.join(', '),
    PROJECTS: (key) => key.scoped_teams?.join(', ') ?? 'all',
    'LAST USED': (key) => key.last_used_at ?? 'never',
    EXPIRES: (key) => key.expires_at ?? 'never',
  });
}

/** Errors: usage. */
export function expiryOf(text: string, now: number): string {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const at = days === undefined ? Date.parse(text) : now + Number(days) * 86_400_000;
  if (Number.isNaN(at) || at <= now) {
    throw new CommandError('usage', `--expires: expected a future time (2027-01-31) or days (90d), got: ${text}`);
  }
  return isoMicros(at);
}

function noKey(id: string): string {
  return `no key with id ${id}; "millrace keys list" shows them`;
}
