import type { Command } from 'commander';
import type { JsonValue } from '../../base/json.ts';
import type { TrialRecord } from '../../pipeline/transform/trial-record.ts';
import { addApiOptions, projectApi, type ApiOptions } from '../api-options.ts';
import { type CommandProcess, printable, type Terminal } from '../terminal.ts';
import { CommandError } from '../exit-codes.ts';
import { collect } from '../read-arguments.ts';
import { differences } from '../transformation/differences.ts';
import { readValues } from '../transformation/read-values.ts';
import { changeLines, showTrial } from '../transformation/show-trial.ts';

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
  /** What would have to change to be as expected; undefined: nothing was expected. */
  readonly mismatch?: ReturnType<typeof differences>;
}

/** Trying transformations before they run: from the disk without a service, or the chain of a running one. */
export function transformationCommand(parent: Command, terminal: Terminal): void {
  const transformation = parent.command('transformation').description('transformations: try them on events');
  addApiOptions(
    transformation
      .command('test')
      .argument('[plugins...]', 'file, folder or archive of a plugin, or slug of a built-in; several run in this order')
      .option('--event <file>', 'events to try: JSON, an array of it or NDJSON; - reads stdin')
      .option('--config <key=value>', 'a setting; may be repeated', collect)
      .option('--config-file <file>', 'JSON object of settings')
      .option('--attachment <key=file>', 'a setting that is a file; may be repeated', collect)
      .option('--chain', 'show the event after each step; without plugins: the chain of the running project')
      .option('--match-event <name>', 'chain of the project, without --event: the latest stored event of this name')
      .option('--match-distinct-id <id>', 'chain of the project, without --event: the latest one of this person')
      .option('--expect <file>', 'what must come out, one event or null (dropped) per event; exit code 1 otherwise'),
  )
    .description('run events through transformations and show what each changes; nothing is stored or sent')
    .action((plugins: readonly string[], options: TestOptions) => test(terminal, plugins, options));
}

async function test(terminal: Terminal, plugins: readonly string[], options: TestOptions): Promise<void> {
  const events = options.event === undefined ? undefined : await readValues(terminal.process, options.event, '--event');
  const expected =
    options.expect === undefined ? undefined : await readValues(terminal.process, options.expect, '--expect');
  const count = events?.length ?? 1;
  if (expected !== undefined && expected.length !== count) {
    const wanted = `${expected.length} results for ${count} ${count === 1 ? 'event' : 'events'}`;
    throw new CommandError('usage', `--expect: got ${wanted}; expected one each, null for an event that is dropped`);
  }
  const records =
    plugins.length > 0
      ? await runPlugins(terminal.process, plugins, events, options)
      : await runProject(events, options);
  const tested = records.map((record, index) => compare(record, expected?.[index]));
  if (options.json === true) terminal.json({ results: tested });
  else tested.forEach((each, index) => show(terminal, each, options.chain === true, titleOf(index, tested.length)));
  throwUnlessWell(tested, expected !== undefined);
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
    throw new CommandError('usage', 'expected plugins to run, or --chain for the chain of the running project');
  }
  if (options.config !== undefined || options.configFile !== undefined || options.attachment !== undefined) {
    throw new CommandError('usage', '--config and --attachment are for plugins from the disk; the project has its own');
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
  terminal.data(mismatch.length === 0 ? '  as expected' : '  not as expected; it would be with');
  for (const line of changeLines(mismatch, terminal)) terminal.data(`    ${line}`);
}

/** An expectation decides alone: an event on which a plugin fails may be just what is expected. */
function throwUnlessWell(tested: readonly Tested[], isExpected: boolean): void {
  const of = (count: number): string => `${count} of ${tested.length} ${tested.length === 1 ? 'event' : 'events'}`;
  const wrong = tested.filter(({ mismatch = [] }) => mismatch.length > 0).length;
  if (wrong > 0) throw new CommandError('failed', `${of(wrong)} did not come out as expected`);
  const failed = tested.filter(({ steps }) => steps.some(({ outcome }) => outcome === 'failed'));
  const error = failed[0]?.steps.find((step) => step.outcome === 'failed')?.error;
  if (failed.length === 0 || isExpected) return;
  throw new CommandError('failed', `${of(failed.length)} failed: ${printable(error?.message ?? 'no message')}`);
}
