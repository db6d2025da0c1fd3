import { Option, type Command } from 'commander';
import type { PluginConfigRecord } from '../../wire/contract/plugin-configs.ts';
import type { ProjectRecord } from '../../wire/contract/projects.ts';
import { createDemo, demoPersons, findDemo, removeDemo, type Demo, type DemoClient } from '../../demo/demo.ts';
import { addApiKeyOption, defaultUrl, listAll, projectApi, type ServiceOptions } from '../api-options.ts';
import { collectionOf, type FamilyName } from '../configs/find-config.ts';
import { confirm } from '../confirm.ts';
import { CommandError } from '../exit-codes.ts';
import { isFinal, type RunView } from '../import/run-view.ts';
import { serverRuns } from '../import/server-runs.ts';
import { follow } from '../import/show-run.ts';
import { addOutputOptions, showFields, showRecord, type OutputOptions } from '../output.ts';
import { addProfileOption } from '../profiles/take-profile.ts';
import { numberText } from '../progress-line.ts';
import { countOf } from '../read-arguments.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';

interface DemoOptions extends Omit<ServiceOptions, 'project'>, OutputOptions {
  readonly persons: string;
  readonly remove?: boolean;
  readonly yes?: boolean;
}

/** What `--json` prints. */
export interface DemoRecord {
  readonly project: Pick<ProjectRecord, 'id' | 'name' | 'api_token'>;
  readonly import: Pick<RunView, 'id' | 'state' | 'totals'>;
  readonly transformations: readonly string[];
  readonly import_apps: readonly string[];
  readonly console_url: string;
}

export function demoCommand(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('demo')
    .addOption(new Option('--url <url>', 'address of the service').env('MILLRACE_URL').default(defaultUrl))
    .option('--persons <count>', 'visitors of the shop, with about 40 events each', String(demoPersons))
    .option('--remove', 'undo the import of the demo and delete its project')
    .option('--yes', 'skip the question of --remove')
    .action((options: DemoOptions) =>
      options.remove === true ? remove(terminal, options) : create(terminal, options),
    );
  addOutputOptions(addProfileOption(addApiKeyOption(command)));
}

async function create(terminal: Terminal, options: DemoOptions): Promise<void> {
  const persons = countOf('--persons', options.persons, 1);
  const { demo, run } = await runUntilStopped(terminal.process, async (signal) => {
    signal.addEventListener('abort', () => terminal.note('"millrace demo --remove" removes the demo'));
    const follow = (demo: Demo): Promise<RunView> => followImport(terminal, options, demo, signal);
    const created = await createDemo(clientOf(options), { persons, now: Date.now(), signal, follow });
    return { demo: created, run: await follow(created) };
  });
  const record = await describeDemo(options, demo, run);
  await showRecord(terminal, options, record, () => showDemo(terminal, record));
  if (!demo.created) terminal.note('the service already had this demo; nothing was changed');
  terminal.note('"millrace login" prints a sign-in link, "millrace demo --remove" removes the demo');
}

/** Follows the import of the demo to its end. Errors: CommandError, also if it did not complete. */
async function followImport(
  terminal: Terminal,
  options: DemoOptions,
  demo: Demo,
  signal: AbortSignal,
): Promise<RunView> {
  const runs = serverRuns(projectApi({ ...options, project: String(demo.project.id) }), demo.config);
  const first = await runs.find(undefined);
  const progress = options.json !== true && options.output === undefined;
  const run = isFinal(first) ? first : await follow(terminal, first, runs.steps(first.id, signal), { progress });
  if (run.state === 'completed') return run;
  throw new CommandError('failed', `the import of the demo is ${run.state}: ${run.reason}`);
}

async function describeDemo(options: DemoOptions, { project }: Demo, run: RunView): Promise<DemoRecord> {
  const { id, name, api_token } = project;
  const api = projectApi({ ...options, project: String(id) });
  const namesOf = async (family: FamilyName): Promise<string[]> =>
    (await listAll<PluginConfigRecord>(api, collectionOf(api, family))).map((config) => config.name);
  return {
    project: { id, name, api_token },
    import: { id: run.id, state: run.state, totals: run.totals },
    transformations: await namesOf('transformations'),
    import_apps: await namesOf('import-apps'),
    console_url: `${api.url}/console/projects/${id}/home`,
  };
}

function showDemo(terminal: Terminal, { project, import: run, ...demo }: DemoRecord): void {
  const { loaded, rejected } = run.totals;
  showFields(terminal, {
    project: `${project.id} "${project.name}"`,
    'project key': project.api_token,
    import: `${run.state}: ${numberText(loaded)} events loaded, ${numberText(rejected)} records rejected`,
    'import apps': demo.import_apps.join(', '),
    transformations: demo.transformations.join(', '),
    console: demo.console_url,
  });
}

async function remove(terminal: Terminal, options: DemoOptions): Promise<void> {
  const client = clientOf(options);
  const demo = await findDemo(client);
  if (demo === undefined) throw new CommandError('notFound', 'the service has no demo; "millrace demo" creates one');
  const { id, name } = demo.project;
  await confirm(terminal.process, `Delete project ${id} "${name}" permanently?`, options);
  const left = await runUntilStopped(terminal.process, (signal) => removeDemo(client, demo, signal));
  if (left !== undefined) {
    throw new CommandError('failed', `the import could not be undone; it is ${left.state}: ${left.reason}`);
  }
  terminal.note(`deleted project ${id} "${name}"`);
}

function clientOf(options: DemoOptions): DemoClient {
  const api = projectApi({ ...options, project: '@current' });
  return { send: (method, path, body) => (method === 'GET' ? api.get(path) : api.send(method, path, body)) };
}
