import type { Command } from 'commander';
import { isoMicros } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import { allScopes } from '../../wire/contract/scopes.ts';
import {
  createPersonalApiKey,
  deletePersonalApiKey,
  getPersonalApiKey,
  listPersonalApiKeys,
  rollPersonalApiKey,
  type IssuedKey,
  type PersonalApiKey,
} from '../../stores/metadata/personal-api-keys.ts';
import { getProject } from '../../stores/metadata/projects.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { systemActor } from '../../stores/metadata/record-change.ts';
import { recordKey } from '../../stores/metadata/record-key.ts';
import { confirm } from '../confirm.ts';
import { withMetadata } from '../with-metadata.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord, type OutputOptions } from '../output.ts';
import { addStoreOptions, storeOf } from '../setting-options.ts';
import type { Terminal } from '../terminal.ts';

interface KeyOptions extends OutputOptions {
  readonly yes?: boolean;
  readonly scope?: readonly string[];
  readonly project?: readonly string[];
  readonly expires?: string;
}

/** Personal API keys, on the metadata store itself: works without a server, and beside one. */
export function keysCommand(parent: Command, terminal: Terminal): void {
  const keys = parent
    .command('keys')
    .description('personal API keys, made in the data directory (or DATABASE_URL) itself');

  addStoreOptions(keys.command('list'))
    .description('list the keys')
    .action(async (options: KeyOptions) => {
      const found = await withMetadata(storeOf(options, terminal.process), (db, owner) =>
        listPersonalApiKeys(db, owner.id),
      );
      await showList(terminal, options, found.map(shown), () =>
        terminal.table(['ID', 'LABEL', 'KEY', 'SCOPES', 'PROJECTS', 'LAST USED', 'EXPIRES'], found.map(row)),
      );
    });

  addStoreOptions(keys.command('create'))
    .description('make a key and print it; it is never shown again')
    .argument('[label]', 'what the key is for, up to 40 characters', 'Command line')
    .option('--scope <scope...>', `what the key may do: ${allScopes.join(', ')} or *`, ['*'])
    .option('--project <id...>', 'only these projects')
    .option('--expires <when>', 'a time (2027-01-31) or a number of days (90d)')
    .action(async (label: string, options: KeyOptions) => {
      const now = Date.now();
      const expiresAt = options.expires === undefined ? null : expiryOf(options.expires, now);
      const scopedProjects = options.project?.map(projectId) ?? null;
      const scopes = options.scope ?? ['*'];
      const issued = await withMetadata(storeOf(options, terminal.process), (db, owner) =>
        db.transaction().execute(async (tx) => {
          await checkProjects(tx, scopedProjects ?? []);
          const input = { userId: owner.id, label, scopes, scopedProjects, expiresAt };
          const made = await createPersonalApiKey(tx, input, now).catch(sayField);
          await recordKey(tx, systemActor(owner.organizationId), { activity: 'created', key: made.key, now });
          return made;
        }),
      );
      await showIssued(terminal, issued, options);
    });

  changeCommands(keys, terminal);
}

function changeCommands(keys: Command, terminal: Terminal): void {
  addStoreOptions(keys.command('roll'))
    .description('give a key a new value and print it; the old value stops at once')
    .argument('<id>', 'id of the key, from "keys list"')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: KeyOptions) => {
      await confirm(terminal.process, `Roll key ${id}? Whoever uses the old value is locked out.`, options);
      const issued = await withMetadata(storeOf(options, terminal.process), (db, owner) =>
        db.transaction().execute(async (tx) => {
          const now = Date.now();
          const before = await getPersonalApiKey(tx, owner.id, id);
          const rolled = await rollPersonalApiKey(tx, owner.id, id, now);
          if (before === undefined || rolled === undefined) throw noKey(id);
          await recordKey(tx, systemActor(owner.organizationId), { activity: 'rolled', before, key: rolled.key, now });
          return rolled;
        }),
      );
      await showIssued(terminal, issued, options);
    });

  addStoreOptions(keys.command('delete'))
    .description('delete a key; it stops at once')
    .argument('<id>', 'id of the key, from "keys list"')
    .option('--yes', 'do not ask')
    .action(async (id: string, options: KeyOptions) => {
      await confirm(terminal.process, `Delete key ${id}?`, options);
      await withMetadata(storeOf(options, terminal.process), (db, owner) =>
        db.transaction().execute(async (tx) => {
          const key = await getPersonalApiKey(tx, owner.id, id);
          if (key === undefined || !(await deletePersonalApiKey(tx, owner.id, id))) throw noKey(id);
          await recordKey(tx, systemActor(owner.organizationId), { activity: 'deleted', key, now: Date.now() });
        }),
      );
      terminal.note(`deleted key ${id}`);
    });
}

async function showIssued(terminal: Terminal, { key, value }: IssuedKey, options: KeyOptions): Promise<void> {
  await showRecord(terminal, options, { ...shown(key), value }, () => {
    terminal.data(value);
    terminal.note(`key "${key.label}" (${key.scopes.join(', ')}); keep it now, it is not shown again`);
  });
}

function row(key: PersonalApiKey): string[] {
  const projects = key.scopedProjects?.join(', ') ?? 'all';
  return [
    key.id,
    key.label,
    key.maskValue,
    key.scopes.join(', '),
    projects,
    key.lastUsedAt ?? 'never',
    key.expiresAt ?? 'never',
  ];
}

/** As the API shows a key. */
function shown(key: PersonalApiKey): Record<string, unknown> {
  return {
    id: key.id,
    label: key.label,
    mask_value: key.maskValue,
    scopes: key.scopes,
    scoped_teams: key.scopedProjects,
    created_at: key.createdAt,
    expires_at: key.expiresAt,
    last_used_at: key.lastUsedAt,
    last_rolled_at: key.lastRolledAt,
  };
}

/** Errors: usage. */
export function expiryOf(text: string, now: number): string {
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  const at = days === undefined ? Date.parse(text) : now + Number(days) * 86_400_000;
  if (Number.isNaN(at) || at <= now) {
    throw new CommandError('usage', `--expires: expected a time to come (2027-01-31) or days (90d), got: ${text}`);
  }
  return isoMicros(at);
}

function projectId(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CommandError('usage', `--project: expected the number of a project, got: ${text}`);
}

/** A key for a project that is not there would open one that is made later. Errors: notFound. */
async function checkProjects(db: Queries, wanted: readonly number[]): Promise<void> {
  for (const id of wanted) {
    if ((await getProject(db, id)) === undefined) {
      throw new CommandError('notFound', `--project: no project ${id}; "millrace projects list" shows them`);
    }
  }
}

function noKey(id: string): CommandError {
  return new CommandError('notFound', `no key with id ${id}; "millrace keys list" shows them`);
}

function sayField(error: unknown): never {
  if (!(error instanceof ApiError)) throw error;
  throw new CommandError('usage', `${error.attr ?? 'key'}: ${error.detail}`, { cause: error });
}
