import { closeSync, createWriteStream, openSync, realpathSync, type WriteStream } from 'node:fs';
import { Option, type Command } from 'commander';
import type { NameTable } from '../../imports/formats/format.ts';
import { findFormat } from '../../imports/formats/registry.ts';
import { SourceError, SourceWaitError } from '../../imports/source.ts';
import { checkedUrl } from '../api-client.ts';
import { addProjectKeyOption, defaultUrl } from '../api-options.ts';
import { CommandError } from '../exit-codes.ts';
import { addFormerApiKey } from '../resolve-options.ts';
import { addProfileOption } from '../profiles/take-profile.ts';
import { collect, countOf } from '../read-arguments.ts';
import { createDeliver } from '../send/deliver.ts';
import { openInput } from '../send/open-input.ts';
import { startProgress } from '../send/progress.ts';
import { sendRecords, type LostRecord } from '../send/send-records.ts';
import { createConverter, sourceFormats, type ConverterArguments } from '../send/to-events.ts';
import { newTotals, totalsJson, totalsLines, type Totals } from '../send/totals.ts';
import { stopSignal } from '../stop-signal.ts';
import { printable, type Terminal } from '../terminal.ts';

interface SendCommandOptions extends ConverterArguments {
  readonly url: string;
  readonly projectKey?: string;
  readonly historical?: boolean;
  readonly printNames?: boolean;
  readonly rejected?: string;
  readonly retries: string;
  readonly dryRun?: boolean;
  readonly progress: boolean;
  readonly json?: boolean;
}

const batchEventsMax = 1000;
const batchBytesMax = 5_000_000;

/** Sends a file of events to any service that speaks `/batch/`. */
export function sendCommand(parent: Command, terminal: Terminal): void {
  const command = parent.command('send');
  command
    .description(
      'send a file of events, or of records of another tool: NDJSON, JSON, CSV, Parquet or Avro, plain or compressed',
    )
    .argument('[file]', 'the file; - reads stdin')
    .addOption(
      new Option('--url <url>', 'address of the service; /batch/ is added').env('MILLRACE_URL').default(defaultUrl),
    )
    .option('--historical', 'mark as a historical migration: own lane, not billed, times taken as they are')
    .addOption(new Option('--from <format>', 'what the records are').choices(sourceFormats).default('events'))
    .addOption(
      new Option('--duplicates <what>', 'segment: a messageId that comes again')
        .choices(['keep', 'drop'])
        .default('keep'),
    )
    .option('--format-option <key=value>', 'option of the format; key=@file takes the value from a file', collect)
    .option('--names <file>', "JSON to take the place of the format's table of names; start from --print-names")
    .option('--print-names', "print the format's table of names as JSON, send nothing")
    .option('--rejected <file>', 'write records that did not get in, with the reason, as NDJSON')
    .option('--retries <number>', 'failed attempts in a row before giving up', '10')
    .option('--dry-run', 'read and convert everything, send nothing')
    .option('--no-progress', 'say nothing until the end')
    .option('--json', 'print the totals as JSON')
    .action((file: string | undefined, options: SendCommandOptions) => {
      if (options.printNames === true) return terminal.json(tableOf(options.from));
      if (file === undefined) throw new CommandError('usage', 'expected a file, or - for stdin');
      return send(terminal, file, options);
    });
  addFormerApiKey(addProfileOption(addProjectKeyOption(command)));
}

/** A format's table of names. Errors: usage. */
function tableOf(from: string): NameTable {
  const format = findFormat(from);
  if (format !== undefined) return format.names;
  throw new CommandError('usage', `--print-names: ${from} have no table of names; choose a format with --from`);
}

async function send(terminal: Terminal, file: string, options: SendCommandOptions): Promise<void> {
  const deliverOptions = deliverOptionsOf(options);
  const convert = createConverter(options);
  const stop = stopSignal(terminal.process);
  const { signal } = stop;
  const input = openInput(file, { stdin: terminal.process.stdin, signal, onHistory: () => checkHistory(options) });
  const lost = options.rejected === undefined ? undefined : openLost(options.rejected, file);
  signal.addEventListener('abort', () => input.close());
  const totals = newTotals();
  const progress = options.progress ? startProgress(input, totals, terminal.process.stderr) : undefined;
  const deliver = createDeliver({
    ...deliverOptions,
    signal,
    onRequest: () => (totals.requests += 1),
    onRetry: (reason, waitMs) => {
      totals.retries += 1;
      const line = `${reason}; trying again in ${(waitMs / 1000).toFixed(1)} s`;
      if (progress === undefined) terminal.note(line);
      else progress.say(line);
    },
  });
  try {
    await sendRecords({
      records: input.records,
      convert,
      deliver: options.dryRun === true ? undefined : deliver,
      totals,
      batchEventsMax,
      batchBytesMax,
      signal,
      onLost: (record) => lost?.write(lostLine(record)),
    });
  } catch (error) {
    stop.rethrow();
    throw understood(error, file);
  } finally {
    input.close();
    progress?.stop();
    stop.release();
    await closeFile(lost);
    showTotals(terminal, totals, options);
  }
  if (totals.rejected + totals.unreadable > 0) throw withRejections(totals, options);
}

/** Errors: usage. */
function deliverOptionsOf({ url, projectKey = '', historical, dryRun, retries }: SendCommandOptions) {
  if (projectKey === '' && dryRun !== true) {
    throw new CommandError(
      'usage',
      'expected --project-key or MILLRACE_PROJECT_API_KEY: the key that "millrace projects list" shows',
    );
  }
  const retriesMax = countOf('--retries', retries, 0);
  return { endpoint: endpointOf(url), projectKey, historical: historical === true, retriesMax };
}

function endpointOf(url: string): string {
  const base = checkedUrl(url);
  return base.endsWith('/batch') ? `${base}/` : `${base}/batch/`;
}

/** A file that calls itself history must not be sent as live events by oversight. */
function checkHistory({ historical }: SendCommandOptions): void {
  if (historical === true) return;
  throw new CommandError(
    'usage',
    'the file says historical_migration: true; add --historical (or take that out of the file)',
  );
}

function lostLine({ source, code, detail }: LostRecord): string {
  return `${JSON.stringify({ place: source.place, code, detail, original: originalOf(source.text) })}\n`;
}

/** The record itself where it is JSON, so that `original` can be corrected and sent; else its text. */
function originalOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Errors: usage, before anything is sent. */
function openLost(path: string, input: string): WriteStream {
  try {
    // Opened for appending first, so that naming the input by mistake does not empty it.
    const probe = openSync(path, 'a');
    if (input !== '-' && realpathSync(path) === realpathSync(input)) {
      throw new Error('it is the file that is to be sent');
    }
    closeSync(probe);
    // A write that fails later is said at the end, together with the totals.
    return createWriteStream(path, { fd: openSync(path, 'w') }).on('error', () => {});
  } catch (cause) {
    const { message } = cause as Error;
    throw new CommandError('usage', `--rejected: expected a file to write, got ${path} (${message})`, { cause });
  }
}

function closeFile(file: WriteStream | undefined): Promise<void> {
  if (file === undefined) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const refuse = (cause: Error): void =>
      reject(new CommandError('failed', `--rejected: ${cause.message}`, { cause }));
    if (file.errored !== null) return refuse(file.errored);
    file.once('error', refuse);
    file.end(resolve);
  });
}

function understood(error: unknown, file: string): unknown {
  if (error instanceof CommandError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const isOfSource = error instanceof SourceError || error instanceof SourceWaitError;
  const reason = isOfSource ? printable(message) : `${file}: ${code ?? message}`;
  return new CommandError('failed', `${reason}; reading stopped, and what was sent is in the totals`, { cause: error });
}

function showTotals(terminal: Terminal, totals: Totals, options: SendCommandOptions): void {
  if (options.json) return terminal.json(totalsJson(totals));
  for (const line of totalsLines(totals, options.dryRun === true)) terminal.data(line);
}

function withRejections({ rejected, unreadable }: Totals, { rejected: file }: SendCommandOptions): CommandError {
  const count = rejected + unreadable;
  const where = file === undefined ? 'add --rejected FILE to keep them' : `they are in ${file}`;
  return new CommandError('rejected', `${count} records did not get in; ${where}`);
}
