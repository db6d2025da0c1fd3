import { counted } from '../../base/integer-text.ts';
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
import { createDeliver, type Deliver, type Delivered } from '../send/deliver.ts';
import { openInput, type RawRecord } from '../send/open-input.ts';
import { startProgress, newTotals, totalsJson, totalsLines, type Totals, countReason } from '../send/totals.ts';
import {
  createConverter,
  sourceFormats,
  type ConverterArguments,
  type Converted,
  type OutgoingEvent,
} from '../send/to-events.ts';
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

export function sendCommand(parent: Command, terminal: Terminal): void {
  const command = parent.command('send');
  command
    .argument('[file]', 'file; - for stdin')
    .addOption(
      new Option('--url <url>', 'address of the service; /batch/ is added').env('MILLRACE_URL').default(defaultUrl),
    )
    .option(
      '--historical',
      'mark events as a historical migration: separate lane, counted separately, original timestamps',
    )
    .addOption(new Option('--from <format>', 'format of the records').choices(sourceFormats).default('events'))
    .addOption(
      new Option('--duplicates <what>', 'segment: what to do with a repeated messageId')
        .choices(['keep', 'drop'])
        .default('keep'),
    )
    .option('--format-option <key=value>', 'option of the format; key=@file reads it', collect)
    .option('--names <file>', "JSON file that replaces the format's table of names, see --print-names")
    .option('--print-names', "print the format's table of names as JSON and send nothing")
    .option('--rejected <file>', 'write rejected records with their reasons, as NDJSON')
    .option('--retries <number>', 'consecutive failed attempts before the command fails', '10')
    .option('--dry-run', 'read and convert everything, but send nothing')
    .option('--no-progress', 'show nothing until the end')
    .option('--json', 'print the totals as JSON')
    .action((file: string | undefined, options: SendCommandOptions) => {
      if (options.printNames === true) return terminal.json(tableOf(options.from));
      if (file === undefined) throw new CommandError('usage', 'expected a file, or - for stdin');
      return send(terminal, file, options);
    });
  addFormerApiKey(addProfileOption(addProjectKeyOption(command)));
}

/** Returns the table of names of a format. Errors: usage. */
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
  const lost = options.rejected === undefined ? undefined : openRejected(options.rejected, file);
  signal.addEventListener('abort', () => input.close());
  const totals = newTotals();
  const progress = options.progress ? startProgress(input, totals, terminal.process.stderr) : undefined;
  const deliver = createDeliver({
    ...deliverOptions,
    signal,
    onRequest: () => (totals.requests += 1),
    onRetry: (reason, waitMs) => {
      totals.retries += 1;
      const line = `${reason}; retrying in ${(waitMs / 1000).toFixed(1)} s`;
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
      onLost: (record) => lost?.write(rejectedLine(record)),
    });
  } catch (error) {
    stop.rethrow();
    throw readError(error, file);
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
    throw new CommandError('usage', 'expected --project-key or MILLRACE_PROJECT_API_KEY: see "millrace projects list"');
  }
  const retriesMax = countOf('--retries', retries, 0);
  return { endpoint: endpointOf(url), projectKey, historical: historical === true, retriesMax };
}

function endpointOf(url: string): string {
  const base = checkedUrl(url);
  return base.endsWith('/batch') ? `${base}/` : `${base}/batch/`;
}

/** Refuses to send a historical file as live events by mistake. */
function checkHistory({ historical }: SendCommandOptions): void {
  if (historical === true) return;
  throw new CommandError(
    'usage',
    'the file contains historical_migration: true; add --historical, or remove it from the file',
  );
}

function rejectedLine({ source, code, detail }: LostRecord): string {
  return `${JSON.stringify({ place: source.place, code, detail, original: originalOf(source.text) })}\n`;
}

/** Returns the record if it is JSON, so that `original` can be corrected and sent; otherwise its text. */
function originalOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Errors: usage, before anything is sent. */
function openRejected(path: string, input: string): WriteStream {
  try {
    // Opened for appending first, so that naming the input by mistake does not empty it.
    const probe = openSync(path, 'a');
    if (input !== '-' && realpathSync(path) === realpathSync(input)) {
      throw new Error('it is the input file');
    }
    closeSync(probe);
    // Later write errors are reported at the end, with the totals.
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

function readError(error: unknown, file: string): unknown {
  if (error instanceof CommandError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const isOfSource = error instanceof SourceError || error instanceof SourceWaitError;
  const reason = isOfSource ? printable(message) : `${file}: ${code ?? message}`;
  return new CommandError('failed', `${reason}; reading stopped; the totals show what was sent`, { cause: error });
}

function showTotals(terminal: Terminal, totals: Totals, options: SendCommandOptions): void {
  if (options.json) return terminal.json(totalsJson(totals));
  for (const line of totalsLines(totals, options.dryRun === true)) terminal.data(line);
}

function withRejections({ rejected, unreadable }: Totals, { rejected: file }: SendCommandOptions): CommandError {
  const count = rejected + unreadable;
  const where = file === undefined ? 'add --rejected FILE to keep them' : `see ${file}`;
  return new CommandError('rejected', `${counted(count, 'record was', 'records were')} rejected; ${where}`);
}

/** A record for the file of rejected records. */
export interface LostRecord {
  readonly source: RawRecord;
  readonly code: string;
  readonly detail: string;
}

interface SendDeps {
  readonly records: AsyncIterable<readonly RawRecord[]>;
  readonly convert: (source: RawRecord) => Converted;
  /** Without it, a dry run counts everything readable as accepted. */
  readonly deliver: Deliver | undefined;
  readonly totals: Totals;
  readonly batchEventsMax: number;
  readonly batchBytesMax: number;
  readonly signal: AbortSignal;
  onLost(lost: LostRecord): void;
}

/**
 * Sends all records in order, one batch at a time. The totals are always exact, also after an error: events without a final response
 * count as unsent. Errors: those of reading and delivering.
 */
export async function sendRecords(options: SendDeps): Promise<void> {
  const { totals, signal } = options;
  let batch: OutgoingEvent[] = [];
  let bytes = 0;
  const flush = async (): Promise<void> => {
    const sending = batch;
    batch = [];
    bytes = 0;
    if (sending.length > 0) await deliverBatch(sending, options);
  };
  for await (const records of options.records) {
    for (const source of records) {
      signal.throwIfAborted();
      const events = convertRecord(source, options);
      totals.events += events.length;
      totals.unsent += events.length;
      for (const event of events) {
        if (batch.length >= options.batchEventsMax || bytes + event.bytes > options.batchBytesMax) await flush();
        batch.push(event);
        bytes += event.bytes + 1;
      }
    }
  }
  await flush();
}

/** Returns the events of a record, or counts why it has none. */
function convertRecord(source: RawRecord, { convert, totals, onLost }: SendDeps): readonly OutgoingEvent[] {
  totals.read += 1;
  const converted = convert(source);
  if (converted.kind === 'events') return converted.events;
  if (converted.kind === 'duplicate') totals.duplicates += 1;
  else if (converted.kind === 'skipped') {
    totals.skipped += 1;
    countReason(totals, `skipped: ${converted.reason.slice(0, 80)}`);
  } else {
    totals.unreadable += 1;
    countReason(totals, `unreadable: ${converted.reason.slice(0, 80)}`);
    onLost({ source, code: 'unreadable', detail: converted.reason });
  }
  return [];
}

async function deliverBatch(batch: readonly OutgoingEvent[], { deliver, totals, onLost }: SendDeps): Promise<void> {
  const report = ({ accepted, rejected }: Delivered): void => {
    totals.accepted += accepted;
    totals.rejected += rejected.length;
    totals.unsent -= accepted + rejected.length;
    for (const { event, code, detail } of rejected) {
      countReason(totals, code);
      onLost({ source: event.source, code, detail });
    }
  };
  if (deliver === undefined) report({ accepted: batch.length, rejected: [] });
  else await deliver(batch, report);
}
