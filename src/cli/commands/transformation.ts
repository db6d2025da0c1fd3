import { counted } from '../../base/integer-text.ts';
import type { Command } from 'commander';
import { type JsonValue, isObject, type JsonObject } from '../../base/json.ts';
import type { TrialRecord } from '../../pipeline/transform/trial-record.ts';
import { addApiOptions, projectApi, type ApiOptions } from '../api-options.ts';
import { type CommandProcess, printable, type Terminal } from '../terminal.ts';
import { collect } from '../read-arguments.ts';
import { changeLines, showTrial } from '../transformation/show-trial.ts';
import { diffJson, type Difference } from '../../pipeline/transform/diff-json.ts';
import type { TrialEvent } from '../../pipeline/transform/trial-event.ts';
import { createReadStream } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { containerOf } from '../../imports/records/detect.ts';
import { CommandError } from '../exit-codes.ts';

interface TestOptions extends ApiOptions {
  readonly event?: string;
  readonly config?: readonly string[];
  readonly configFile?: string;
  readonly attachment?: readonly string[];
  readonly chain?: boolean;
  readonly matchEvent?: string;
  readonly matchDistinctId?: string;
  readonly expect?: string;
}

interface Tested extends TrialRecord {
  /** Differences from the expected event, if one was given. */
  readonly mismatch?: ReturnType<typeof differences>;
}

export function transformationCommand(parent: Command, terminal: Terminal): void {
  const transformation = parent.command('transformation');
  addApiOptions(
    transformation
      .command('test')
      .argument('[plugins...]', 'file, folder or archive of a plugin, or slug of a built-in; several run in order')
      .option('--event <file>', 'events: JSON, a JSON array or NDJSON; - for stdin')
      .option('--config <key=value>', 'setting; repeatable', collect)
      .option('--config-file <file>', 'JSON object of settings')
      .option('--attachment <key=file>', 'setting whose value is a file; repeatable', collect)
      .option('--chain', "show the event after each step; without plugins, run the project's chain")
      .option('--match-event <name>', "project's chain: test the latest stored event of this name")
      .option('--match-distinct-id <id>', "project's chain: test the latest stored event of this person")
      .option('--expect <file>', 'expected result of each event, null if dropped; exit code 1 on differences'),
  )
    .description('run events through transformations and show their changes; nothing is stored or sent')
    .action((plugins: readonly string[], options: TestOptions) => test(terminal, plugins, options));
}

async function test(terminal: Terminal, plugins: readonly string[], options: TestOptions): Promise<void> {
  const events = options.event === undefined ? undefined : await readValues(terminal.process, options.event, '--event');
  const expected =
    options.expect === undefined ? undefined : await readValues(terminal.process, options.expect, '--expect');
  const count = events?.length ?? 1;
  if (expected !== undefined && expected.length !== count) {
    const wanted = `${counted(expected.length, 'result')} for ${counted(count, 'event')}`;
    throw new CommandError('usage', `--expect: got ${wanted}; expected one per event, null for a dropped one`);
  }
  const records =
    plugins.length > 0
      ? await runPlugins(terminal.process, plugins, events, options)
      : await runProject(events, options);
  const tested = records.map((record, index) => compare(record, expected?.[index]));
  if (options.json === true) terminal.json({ results: tested });
  else tested.forEach((each, index) => show(terminal, each, options.chain === true, titleOf(index, tested.length)));
  failUnlessPassed(tested, expected !== undefined);
}

async function runPlugins(
  process: CommandProcess,
  plugins: readonly string[],
  events: readonly JsonValue[] | undefined,
  options: TestOptions,
): Promise<readonly TrialRecord[]> {
  if (events === undefined) {
    throw new CommandError(
      'usage',
      'expected --event FILE: an event such as {"event":"sign up","distinct_id":"ann","properties":{}}',
    );
  }
  // The sandbox and the bundler take longer to load than most commands take to run.
  const { runLocally } = await import('../transformation/run-locally.ts');
  return runLocally(process, plugins, events, options);
}

async function runProject(
  events: readonly JsonValue[] | undefined,
  options: TestOptions,
): Promise<readonly TrialRecord[]> {
  if (options.chain !== true) {
    throw new CommandError('usage', 'expected plugins, or --chain for the chain of a project');
  }
  if (options.config !== undefined || options.configFile !== undefined || options.attachment !== undefined) {
    throw new CommandError(
      'usage',
      '--config and --attachment are for local plugins; the project has its own settings',
    );
  }
  const api = projectApi(options);
  const path = `${api.root}/pipeline_transformation_configs/test/`;
  const match = { event: options.matchEvent, distinct_id: options.matchDistinctId };
  if (events === undefined) return [await api.send<TrialRecord>('POST', path, { match })];
  const records: TrialRecord[] = [];
  for (const event of events) records.push(await api.send<TrialRecord>('POST', path, { event }));
  return records;
}

function compare(record: TrialRecord, expected: JsonValue | undefined): Tested {
  return expected === undefined ? record : { ...record, mismatch: differences(expected, record.after) };
}

function titleOf(index: number, count: number): string {
  return count === 1 ? 'event' : `event ${index + 1} of ${count}`;
}

function show(terminal: Terminal, tested: Tested, everyStep: boolean, title: string): void {
  showTrial(terminal, tested, { title, everyStep });
  const { mismatch } = tested;
  if (mismatch === undefined) return;
  terminal.data(mismatch.length === 0 ? '  as expected' : '  not as expected; differences');
  for (const line of changeLines(mismatch, terminal)) terminal.data(`    ${line}`);
}

/** With an expectation only that counts: a failing plugin may be expected. */
function failUnlessPassed(tested: readonly Tested[], isExpected: boolean): void {
  const of = (count: number): string => `${count} of ${counted(tested.length, 'event')}`;
  const wrong = tested.filter(({ mismatch = [] }) => mismatch.length > 0).length;
  if (wrong > 0) throw new CommandError('failed', `${of(wrong)} were not as expected`);
  const failed = tested.filter(({ steps }) => steps.some(({ outcome }) => outcome === 'failed'));
  const error = failed[0]?.steps.find((step) => step.outcome === 'failed')?.error;
  if (failed.length === 0 || isExpected) return;
  throw new CommandError('failed', `${of(failed.length)} failed: ${printable(error?.message ?? 'no message')}`);
}

const parts = ['uuid', 'event', 'distinct_id', 'timestamp', 'properties'] as const;
const markers = ['$plugins_succeeded', '$plugins_failed'] as const;

/**
 * Returns the changes that would turn the event into the expected one. Only expected parts are compared, so that a sample needs no uuid.
 * Properties are compared as a whole, except the labels of configs that ran unless they are expected. `null` means dropped. Errors: usage,
 * when `expected` is not an event.
 */
export function differences(expected: JsonValue, after: TrialEvent | null): Difference[] {
  if (expected === null || after === null) return diffJson(after as JsonObject | null, expected);
  const wanted = readExpected(expected);
  const actual: JsonObject = {};
  for (const part of parts) if (Object.hasOwn(wanted, part)) actual[part] = after[part];
  const time = wanted['timestamp'];
  // One time has several spellings.
  if (typeof time === 'string' && Date.parse(time) === Date.parse(after.timestamp)) actual['timestamp'] = time;
  const { properties } = wanted;
  if (isObject(properties)) actual['properties'] = withoutUnexpected(after.properties, properties);
  return diffJson(actual, wanted);
}

function withoutUnexpected(properties: JsonObject, expected: JsonObject): JsonObject {
  const kept = { ...properties };
  for (const marker of markers) if (!Object.hasOwn(expected, marker)) delete kept[marker];
  return kept;
}

function readExpected(expected: JsonValue): JsonObject {
  if (!isObject(expected)) {
    throw new CommandError('usage', `--expect: expected an event or null (dropped), got: ${shown(expected)}`);
  }
  const unknown = Object.keys(expected).filter((key) => !(parts as readonly string[]).includes(key));
  if (unknown.length === 0) return expected;
  const known = `only ${parts.join(', ')} are compared`;
  throw new CommandError('usage', `--expect: ${known}; remove ${unknown.join(', ')}, or move it into the properties`);
}

function shown(value: JsonValue): string {
  return JSON.stringify(value).slice(0, 60);
}

/** Samples are kept in memory. */
const bytesMax = 64 * 1024 * 1024;

/**
 * Reads the JSON values of a file, or of stdin for `-`: one value, an array, an object with `batch`, or one per line, plain or gzipped.
 * Errors: usage, naming `option`.
 */
export async function readValues(process: CommandProcess, path: string, option: string): Promise<JsonValue[]> {
  const text = (await readText(process, path, option)).replace(/^\ufeff/, '');
  const whole = parsed(text);
  if (whole !== undefined) return valuesOf(whole);
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const value = parsed(line);
    if (value !== undefined) return [value];
    const place = `${path}, line ${index + 1}`;
    throw new CommandError(
      'usage',
      `${option}: expected JSON, a JSON array, or one value per line, got something else at ${place}`,
    );
  });
}

function valuesOf(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  const batch = typeof value === 'object' && value !== null && !('event' in value) ? value['batch'] : undefined;
  return Array.isArray(batch) ? batch : [value];
}

async function readText({ stdin }: CommandProcess, path: string, option: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of path === '-' ? stdin : createReadStream(path)) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size > bytesMax) throw new Error(`more than ${bytesMax / 1024 / 1024} MiB`);
    }
    const bytes = Buffer.concat(chunks);
    const text = containerOf(bytes) === 'gzip' ? gunzipSync(bytes, { maxOutputLength: bytesMax }) : bytes;
    return text.toString('utf8');
  } catch (cause) {
    throw new CommandError('usage', `${option}: cannot read ${path} (${(cause as Error).message})`, { cause });
  }
}

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // The caller reports what was expected.
    return undefined;
  }
}
