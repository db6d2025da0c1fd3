import { writeFileSync } from 'node:fs';
import { text as textFrom } from 'node:stream/consumers';
import { Option, type Command } from 'commander';
import { parseExact } from '../../base/exact-json.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { counted } from '../../base/integer-text.ts';
import type { Page } from '../../wire/contract/pagination.ts';
import type {
  PlanLearnResult,
  PlanTestResult,
  TrackingPlanRecord,
  ViolationsRecord,
} from '../../wire/contract/tracking-plan.ts';
import { planChanges, type PlanChange } from '../../wire/tracking-plan/learn-plan.ts';
import type { TrackingPlan } from '../../wire/tracking-plan/plan.ts';
import { PlanError, emptyPlan, readPlan } from '../../wire/tracking-plan/read-plan.ts';
import { addApiOptions, projectApi, type ApiOptions, type ProjectApi } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { showList, showRecord, showTable } from '../output.ts';
import { numberText } from '../progress-line.ts';
import { collect, countOf, textOf } from '../read-arguments.ts';
import { printable, type Terminal } from '../terminal.ts';

interface Options extends ApiOptions {
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly after?: string;
  readonly before?: string;
  readonly event?: string & readonly string[];
  readonly by?: string;
  readonly sample?: string;
  readonly replace?: boolean;
  readonly out?: string;
}

export function planCommand(parent: Command, terminal: Terminal): void {
  const plan = parent.command('plan');
  showCommand(plan, terminal);
  exportCommand(plan, terminal);
  saveCommand(plan, terminal);
  learnCommand(plan, terminal);
  testCommand(plan, terminal);
  violationsCommand(plan, terminal);
  versionCommands(plan, terminal);
}

function showCommand(plan: Command, terminal: Terminal): void {
  addApiOptions(plan.command('show'))
    .description('show the tracking plan of a project')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const record = await api.get<TrackingPlanRecord>(pathOf(api));
      await showRecord(terminal, options, record, () => {
        const stored = planOf(record);
        if (stored === undefined) return terminal.data('no tracking plan: "millrace plan learn" drafts one');
        const { policy, unplanned_events: events, unplanned_properties: properties } = stored;
        terminal.data(
          `version ${record.version}; violations: ${policy}, unplanned events: ${events}, unplanned properties: ${properties}`,
        );
        showTable(terminal, stored.events, {
          EVENT: ({ name }) => printable(name),
          PROPERTIES: ({ schema }) => String(Object.keys(schema.properties ?? {}).length),
          REQUIRED: ({ schema }) => String(schema.required?.length ?? 0),
          POLICY: (event) => event.policy ?? '-',
        });
      });
    });
}

function exportCommand(plan: Command, terminal: Terminal): void {
  addApiOptions(plan.command('export'))
    .option('--out <file>', 'write to this file instead of stdout')
    .description('print the tracking plan as a JSON file that "plan save" reads')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const stored = planOf(await api.get<TrackingPlanRecord>(pathOf(api))) ?? emptyPlan;
      write(terminal, stored, options.out);
    });
}

function saveCommand(plan: Command, terminal: Terminal): void {
  addApiOptions(plan.command('save'))
    .argument('<file>', 'JSON file with a plan, or - for stdin')
    .option('--dry-run', 'only show what would change')
    .description('replace the tracking plan of a project; it applies within seconds')
    .action(async (file: string, options: Options) => {
      const api = projectApi(options);
      const after = readPlanFile(file, await fileText(terminal, file));
      const record = await api.get<TrackingPlanRecord>(pathOf(api));
      showChanges(terminal, planOf(record) ?? emptyPlan, after);
      if (options.dryRun === true) return;
      const saved = await save(api, after, record.version);
      terminal.note(saved.version === record.version ? 'unchanged' : `saved version ${saved.version}`);
    });
}

function learnCommand(plan: Command, terminal: Terminal): void {
  addTimes(addApiOptions(plan.command('learn')))
    .option('--event <name>', 'only events of this name, * matches any characters (repeatable)', collect)
    .option('--sample <count>', 'events to read, about', '100000')
    .option('--replace', 'learn the schemas of events that the plan contains again')
    .option('--out <file>', 'write the draft to this JSON file, for "plan save"')
    .description('draft a tracking plan from stored events; saves nothing')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const { after, before, event, sample = '', replace = false } = options;
      const body = { after, before, events: event, sample: countOf('--sample', sample, 1), replace };
      const learned = await api.send<PlanLearnResult>('POST', `${pathOf(api)}learn/`, body);
      if (options.out !== undefined) write(terminal, readPlan(learned.draft), options.out);
      await showRecord(terminal, options, learned, () => showLearned(terminal, learned));
    });
}

function testCommand(plan: Command, terminal: Terminal): void {
  addApiOptions(plan.command('test'))
    .argument('<file>', 'events as NDJSON with "event" and "properties", or - for stdin')
    .description('validate events against the stored tracking plan; exit code 3 if any violates it')
    .action(async (file: string, options: Options) => {
      const api = projectApi(options);
      const events = eventsIn(file, await fileText(terminal, file));
      const results: PlanTestResult['results'] = [];
      for (let from = 0; from < events.length; from += eventsPerCall) {
        const body = { events: events.slice(from, from + eventsPerCall) };
        results.push(...(await api.send<PlanTestResult>('POST', `${pathOf(api)}test/`, body)).results);
      }
      const violating = results
        .map((result, index) => Object.assign({ line: index + 1 }, result))
        .filter(({ violations }) => violations.length > 0);
      await showList(terminal, options, violating, () => {
        const rows = violating.flatMap(({ violations, ...rest }) =>
          violations.map((found) => Object.assign({}, rest, found)),
        );
        showTable(terminal, rows, {
          EVENT: ({ line, event }) => `${line}: ${printable(event)}`,
          OUTCOME: ({ outcome }) => outcome,
          PROPERTY: ({ property }) => printable(property) || '-',
          RULE: ({ rule }) => rule,
          DETAIL: ({ detail }) => printable(detail),
        });
      });
      const sentence = `${violating.length} of ${counted(events.length, 'event')} violate the tracking plan`;
      if (violating.length > 0) throw new CommandError('rejected', sentence);
      terminal.note(`${counted(events.length, 'event')}, no violation`);
    });
}

function violationsCommand(plan: Command, terminal: Terminal): void {
  addTimes(addApiOptions(plan.command('violations')))
    .option('--event <name>', 'only this event')
    .addOption(new Option('--by <period>', 'length of the periods in JSON').choices(['hour', 'day']))
    .description('list violations of the tracking plan by rule, most frequent first; default: the last 7 days')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const { after, before, event, by } = options;
      const query = { after, before, event, by, limit: '1000' };
      const found = await api.get<ViolationsRecord>(`${pathOf(api)}violations/`, query);
      await showList(terminal, options, found.results, () =>
        showTable(terminal, found.results, {
          EVENT: (each) => printable(each.event) || '(several)',
          PROPERTY: ({ property }) => printable(property) || '-',
          RULE: ({ rule }) => rule,
          COUNT: ({ count }) => numberText(count),
          'LAST SEEN': ({ last_seen: seen }) => seen,
          SAMPLE: ({ samples }) => printable(String(samples[0]?.['detail'] ?? '')),
        }),
      );
    });
}

function versionCommands(plan: Command, terminal: Terminal): void {
  addApiOptions(plan.command('versions'))
    .description('list the versions of the tracking plan, newest first')
    .action(async (options: Options) => {
      const api = projectApi(options);
      const { results } = await api.get<Page<VersionRecord>>(`${pathOf(api)}versions/`, { limit: '100' });
      await showList(terminal, options, results, () =>
        showTable(terminal, results, {
          VERSION: ({ version }) => String(version),
          EVENTS: ({ events }) => (events === null ? 'removed' : String(events)),
          SAVED: ({ updated_at: at }) => at ?? '-',
          BY: ({ updated_by: by }) => by?.email ?? 'the service',
        }),
      );
    });
  addApiOptions(plan.command('restore'))
    .argument('<version>', 'number from "plan versions"')
    .description('save an earlier version of the tracking plan again')
    .action(async (version: string, options: Options) => {
      const api = projectApi(options);
      const number = countOf('<version>', version, 1);
      const earlier = planOf(await api.get<TrackingPlanRecord>(`${pathOf(api)}versions/${number}/`));
      if (earlier === undefined)
        throw new CommandError('usage', `version ${number} removed the plan: use "plan remove"`);
      const record = await api.get<TrackingPlanRecord>(pathOf(api));
      showChanges(terminal, planOf(record) ?? emptyPlan, earlier);
      const saved = await save(api, earlier, record.version);
      terminal.note(`saved version ${saved.version}`);
    });
  addApiOptions(plan.command('remove'))
    .option('--yes', 'do not ask')
    .description('remove the tracking plan; earlier versions stay')
    .action(async (options: Options) => {
      const api = projectApi(options);
      await confirm(terminal.process, 'Remove the tracking plan? No event is validated from then on.', options);
      await api.send('DELETE', pathOf(api));
      terminal.note('removed the tracking plan');
    });
}

interface VersionRecord extends Pick<TrackingPlanRecord, 'version' | 'updated_at' | 'updated_by'> {
  readonly events: number | null;
}

const eventsPerCall = 1000;

function pathOf({ root }: ProjectApi): string {
  return `${root}/tracking_plan/`;
}

function planOf({ plan }: TrackingPlanRecord): TrackingPlan | undefined {
  return plan === null ? undefined : readPlan(plan);
}

function save(api: ProjectApi, plan: TrackingPlan, version: number): Promise<TrackingPlanRecord> {
  return api.send<TrackingPlanRecord>('PUT', pathOf(api), plan, { ifMatch: String(version) });
}

function addTimes(command: Command): Command {
  return command
    .option('--after <time>', 'from this time on (ISO 8601)')
    .option('--before <time>', 'before this time (ISO 8601)');
}

async function fileText(terminal: Terminal, file: string): Promise<string> {
  return file === '-' ? textFrom(terminal.process.stdin) : textOf('<file>', file);
}

/** Errors: invalidConfig with every fault. */
function readPlanFile(file: string, text: string): TrackingPlan {
  try {
    return readPlan(parseExact(text));
  } catch (error) {
    if (!(error instanceof PlanError || error instanceof SyntaxError)) throw error;
    const lines = error.message.split('\n').map((line) => `\n  ${line}`);
    throw new CommandError('invalidConfig', `${file}: expected a tracking plan as JSON${lines.join('')}`, {
      cause: error,
    });
  }
}

interface TestedEvent {
  readonly event: JsonValue;
  readonly properties: JsonObject;
}

/** Errors: usage with the line. */
function eventsIn(file: string, text: string): TestedEvent[] {
  return text.split('\n').flatMap((line, index): TestedEvent[] => {
    if (line.trim() === '') return [];
    const found = eventIn(line);
    if (found !== undefined) return [found];
    const expected = 'expected an event such as {"event":"paid","properties":{}}';
    throw new CommandError('usage', `${file}, line ${index + 1}: ${expected}, got: ${line.slice(0, 60)}`);
  });
}

function eventIn(line: string): TestedEvent | undefined {
  let value: JsonValue;
  try {
    value = parseExact(line);
  } catch {
    return undefined;
  }
  if (!isObject(value) || typeof value['event'] !== 'string') return undefined;
  const { event, properties = {} } = value;
  return isObject(properties) ? { event, properties } : undefined;
}

function write(terminal: Terminal, plan: TrackingPlan, out: string | undefined): void {
  const text = JSON.stringify(plan, undefined, 2);
  if (out === undefined) return terminal.data(text);
  writeFileSync(out, `${text}\n`);
  terminal.note(`wrote ${out}`);
}

const signs = { added: '+', changed: '~', removed: '-' } as const;

function showChanges(terminal: Terminal, before: TrackingPlan, after: TrackingPlan): void {
  for (const field of ['policy', 'unplanned_events', 'unplanned_properties'] as const) {
    if (before[field] !== after[field]) terminal.data(`~ ${field}: ${before[field]} → ${after[field]}`);
  }
  for (const change of planChanges(before, after)) terminal.data(changeLine(change));
}

function changeLine({ event, property, kind }: PlanChange): string {
  return `${signs[kind]} ${printable(event)}${property === null ? '' : `: ${printable(property)}`}`;
}

function showLearned(terminal: Terminal, { total, sampled, changes, seen, left_out: leftOut }: PlanLearnResult): void {
  terminal.data(`read ${numberText(sampled)} of ${counted(total, 'event')}`);
  for (const change of changes) terminal.data(changeLine(change));
  if (changes.length === 0) terminal.data('no differences from the plan');
  for (const name of leftOut) terminal.data(`? ${printable(name)}: exceeds the limits of a plan`);
  const rows = seen.flatMap(({ name, properties }) => properties.map((property) => ({ event: name, ...property })));
  showTable(terminal, rows, {
    EVENT: ({ event }) => printable(event),
    PROPERTY: ({ name }) => printable(name),
    SHARE: ({ share }) => `${Math.floor(share * 1000) / 10} %`,
    TYPES: ({ types }) => Object.keys(types).join(', '),
    VALUES: ({ values }) => (values === null ? '-' : printable(values.join(', ').slice(0, 60))),
  });
}
