import { Option, type Command } from 'commander';
import type { Static } from 'typebox';
import {
  deadLetterStates,
  type deadLetterCountsSchema,
  type DeadLetterRecord,
  type deadLetterWithOriginalSchema,
  type discardResultSchema,
  type replayResultSchema,
} from '../../wire/contract/dead-letters.ts';
import { addApiOptions, listUpTo, projectApi, type ApiOptions } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { showFields, showList, showRecord, showTable } from '../output.ts';
import { counted, plural } from '../../base/integer-text.ts';
import { numberText } from '../progress-line.ts';
import { countOf, jsonOf } from '../read-arguments.ts';
import { printable, type Terminal, type CommandProcess } from '../terminal.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandError } from '../exit-codes.ts';

type DeadLetterCounts = Static<typeof deadLetterCountsSchema>;
type DeadLetterWithOriginal = Static<typeof deadLetterWithOriginalSchema>;
type ReplayResult = Static<typeof replayResultSchema>;
type DiscardResult = Static<typeof discardResultSchema>;

interface Filter {
  readonly reason?: string;
  readonly event?: string;
  readonly distinctId?: string;
  readonly lane?: string;
  readonly after?: string;
  readonly before?: string;
}

interface Options extends ApiOptions, Filter {
  readonly state?: string;
  readonly limit: string;
  readonly original?: boolean;
  readonly corrected?: string;
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function deadLettersCommand(parent: Command, terminal: Terminal): void {
  const letters = parent.command('dead-letters');
  addRead(letters, terminal);
  addEdit(letters, terminal);
  addReplay(letters, terminal);
  addDiscard(letters, terminal);
}

function addRead(letters: Command, terminal: Terminal): void {
  withState(withFilter(addApiOptions(letters.command('list'))))
    .option('--limit <number>', 'number of dead letters', '50')
    .description('list dead letters, newest first')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const query = { ...queryOf(options), state: options.state };
      const max = countOf('--limit', options.limit, 1);
      const found = await listUpTo<DeadLetterRecord>(api, `${api.root}/dead_letters/`, query, max);
      await showList(terminal, options, found, () => showLetters(terminal, found));
    });

  withState(withFilter(addApiOptions(letters.command('counts'))))
    .description('count dead letters by reason')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const query = { ...queryOf(options), state: options.state };
      const counts = await api.get<DeadLetterCounts>(`${api.root}/dead_letters/counts/`, query);
      await showRecord(terminal, options, counts, () => showCounts(terminal, counts));
    });

  addApiOptions(letters.command('show'))
    .argument('<id>', 'id of the dead letter')
    .option('--original', 'print only the bytes as received')
    .description('show a dead letter with the original event')
    .action(async (id: string, options: Options) => {
      const api = projectApi(options);
      const letter = await api.get<DeadLetterWithOriginal>(`${api.root}/dead_letters/${encodeURIComponent(id)}/`);
      if (options.original === true) return writeOriginal(terminal, letter);
      await showRecord(terminal, options, letter, () => showLetter(terminal, letter));
    });
}

function addReplay(letters: Command, terminal: Terminal): void {
  withChoice(addApiOptions(letters.command('replay')))
    .option('--corrected <json|@file>', 'corrected event, for one dead letter')
    .option('--dry-run', 'only show what would happen')
    .description('process open dead letters again')
    .action(async (ids: readonly string[], options: Options) => {
      if (options.corrected !== undefined) return replayCorrected(terminal, ids, options);
      const api = projectApi(options);
      const choice = choiceOf(ids, options);
      if (options.dryRun !== true && ids.length === 0) {
        await confirm(terminal.process, 'Replay every open dead letter that matches?', options);
      }
      const body = { ...choice, dry_run: options.dryRun === true };
      const result = await api.send<ReplayResult>('POST', `${api.root}/dead_letters/replay/`, body);
      await showRecord(terminal, options, result, () => showReplay(terminal, result));
      if (result.failed.length > 0) {
        const { length } = result.failed;
        const remain = plural(length, 'is still invalid and stays open', 'are still invalid and stay open');
        throw new CommandError(
          'rejected',
          `${numberText(length)} ${remain}; correct one with "dead-letters edit <id>"`,
        );
      }
    });
}

async function replayCorrected(terminal: Terminal, ids: readonly string[], options: Options): Promise<void> {
  const [id] = ids;
  if (id === undefined || ids.length > 1) throw new CommandError('usage', '--corrected: expected one dead letter');
  const api = projectApi(options);
  const act = options.dryRun === true ? 'dry_run' : 'replay';
  const path = `${api.root}/dead_letters/${encodeURIComponent(id)}/${act}/`;
  const result = await api.send('POST', path, { event: jsonOf('--corrected', options.corrected ?? '') });
  await showRecord(terminal, options, result, () => terminal.json(result));
}

function addEdit(letters: Command, terminal: Terminal): void {
  addApiOptions(letters.command('edit'))
    .argument('<id>', 'id of the dead letter')
    .option('--dry-run', 'only show what would happen')
    .description(
      'correct the event of a dead letter in an editor ($VISUAL, $EDITOR, otherwise vi), and process it again',
    )
    .action(async (id: string, options: Options) => {
      const api = projectApi(options);
      const path = `${api.root}/dead_letters/${encodeURIComponent(id)}/`;
      const { original, original_encoding: encoding } = await api.get<DeadLetterWithOriginal>(path);
      if (encoding === 'base64') {
        throw new CommandError(
          'failed',
          `expected text to edit, got binary data: "dead-letters show ${id} --original"`,
        );
      }
      await using edited = await editText(terminal.process, original, 'event.json');
      if (edited.text === original) return terminal.note('nothing was changed or sent');
      try {
        await replayCorrected(terminal, [id], { ...options, corrected: edited.text });
      } catch (error) {
        terminal.note(`your text is kept in ${edited.keep()}`);
        throw error;
      }
    });
}

function addDiscard(letters: Command, terminal: Terminal): void {
  withChoice(addApiOptions(letters.command('discard')))
    .option('--dry-run', 'only count them')
    .description('discard open dead letters permanently')
    .action(async (ids: readonly string[], options: Options) => {
      const api = projectApi(options);
      const choice = choiceOf(ids, options);
      if (options.dryRun !== true) {
        const which = ids.length > 0 ? counted(ids.length, 'dead letter') : 'every open dead letter that matches';
        await confirm(terminal.process, `Discard ${which} permanently?`, options);
      }
      const body = { ...choice, dry_run: options.dryRun === true };
      const result = await api.send<DiscardResult>('POST', `${api.root}/dead_letters/discard/`, body);
      await showRecord(terminal, options, result, () =>
        terminal.data(`${matchText(result.matched)}, ${numberText(result.discarded)} discarded`),
      );
    });
}

function withFilter(command: Command): Command {
  return command
    .option('--reason <type>', 'only with this reason')
    .option('--event <name>', 'only events of this name')
    .option('--distinct-id <id>', 'only events of this person')
    .addOption(new Option('--lane <lane>', 'only in this lane').choices(['live', 'historical']))
    .option('--after <time>', 'received from this time on (ISO 8601)')
    .option('--before <time>', 'received before this time');
}

function withState(command: Command): Command {
  return command.addOption(
    new Option('--state <state>', 'only in this state').choices(deadLetterStates).default('open'),
  );
}

function withChoice(command: Command): Command {
  return withFilter(command.argument('[id...]', 'ids of dead letters; or give a filter, or --all'))
    .option('--all', 'all open dead letters')
    .option('--yes', 'do not ask');
}

function queryOf({ reason, event, distinctId, lane, after, before }: Filter) {
  return { reason, event, distinct_id: distinctId, lane, after, before };
}

/** Never selects all by default. Errors: usage. */
function choiceOf(ids: readonly string[], options: Options): object {
  const filter = Object.fromEntries(Object.entries(queryOf(options)).filter(([, value]) => value !== undefined));
  if (ids.length > 0 && Object.keys(filter).length === 0 && options.all !== true) return { ids };
  if (ids.length > 0) throw new CommandError('usage', 'expected ids, or a filter, or --all; not several of them');
  if (Object.keys(filter).length > 0) return { filter };
  // A filter must not be empty.
  if (options.all === true) return { filter: { after: '1970-01-01T00:00:00Z' } };
  throw new CommandError('usage', 'expected ids, a filter such as --reason, or --all');
}

function showLetters(terminal: Terminal, letters: readonly DeadLetterRecord[]): void {
  showTable(terminal, letters, {
    ID: ({ id }) => id,
    RECEIVED: ({ received_at }) => received_at,
    REASON: ({ reason }) => reason,
    EVENT: ({ event }) => event ?? '-',
    'DISTINCT ID': (letter) => letter.distinct_id ?? '-',
    STATE: ({ state }) => state,
    DETAIL: ({ detail }) => detail,
  });
}

function showLetter(terminal: Terminal, { original, original_encoding: encoding, ...fields }: DeadLetterWithOriginal) {
  showFields(terminal, Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? '-'])));
  terminal.data(encoding === 'text' ? printable(original) : `${original} (base64)`);
}

function writeOriginal({ process }: Terminal, { original, original_encoding: encoding }: DeadLetterWithOriginal): void {
  process.stdout.write(encoding === 'base64' ? Buffer.from(original, 'base64') : original);
}

function showCounts(terminal: Terminal, { count, results }: DeadLetterCounts): void {
  showTable(terminal, results, {
    REASON: ({ reason }) => reason,
    COUNT: (each) => numberText(each.count),
    OLDEST: ({ oldest }) => oldest,
    NEWEST: ({ newest }) => newest,
    EVENTS: ({ events }) => events.map(({ event, count: of }) => `${event ?? '(no name)'} ${of}`).join(', '),
  });
  terminal.data(`total: ${numberText(count)}`);
}

function matchText(count: number): string {
  return `${numberText(count)} ${plural(count, 'matches', 'match')}`;
}

function showReplay(terminal: Terminal, { matched, replayed, failed, remaining }: ReplayResult): void {
  terminal.data(`${matchText(matched)}, ${numberText(replayed)} replayed`);
  for (const { id, code, detail } of failed) terminal.data(`  ${id}  ${code}  ${printable(detail)}`);
  if (remaining > 0)
    terminal.note(`${numberText(remaining)} more ${plural(remaining, 'matches', 'match')}: repeat the command`);
}

/** An edited text; disposing it removes its file. */
interface Edited extends AsyncDisposable {
  readonly text: string;
  /** Keeps the file and returns its path. */
  keep(): string;
}

/**
 * Opens a text in the user's editor. Errors: failed.
 *
 * @param name file name, which tells editors the language
 */
async function editText({ env }: Pick<CommandProcess, 'env'>, text: string, name: string): Promise<Edited> {
  // Readable by this user only.
  const folder = await mkdtemp(join(tmpdir(), 'millrace-edit-'));
  const path = join(folder, name);
  const { VISUAL: visual, EDITOR: plain } = env;
  const editor = visual || plain || 'vi';
  let isKept = false;
  const dispose = async (): Promise<void> => {
    if (!isKept) await rm(folder, { recursive: true, force: true });
  };
  try {
    await writeFile(path, text, { mode: 0o600 });
    // Run by the shell, because EDITOR may contain options: "code --wait".
    const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', path], { stdio: 'inherit' });
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new CommandError('failed', `${editor} ended with ${code ?? 'a signal'}: nothing was changed`);
    return {
      text: await readFile(path, 'utf8'),
      keep: () => {
        isKept = true;
        return path;
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}
