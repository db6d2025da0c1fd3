import { Option, type Command } from 'commander';
import { addApiKeyOption, defaultUrl } from '../api-options.ts';
import { confirm } from '../confirm.ts';
import { createDemo, describeDemo, findDemo, removeDemo } from '../demo/demo.ts';
import type { DemoRecord, DemoService, Follow } from '../demo/demo.ts';
import { CommandError } from '../exit-codes.ts';
import { follow } from '../import/show-run.ts';
import { addOutputOptions, showFields, showRecord, type OutputOptions } from '../output.ts';
import { addProfileOption } from '../profiles/take-profile.ts';
import { numberText } from '../progress-line.ts';
import { countOf } from '../read-arguments.ts';
import { runUntilStopped } from '../stop-signal.ts';
import type { Terminal } from '../terminal.ts';

interface DemoOptions extends DemoService, OutputOptions {
  readonly persons: string;
  readonly remove?: boolean;
  readonly yes?: boolean;
}

export function demoCommand(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('demo')
    .addOption(new Option('--url <url>', 'address of the service').env('MILLRACE_URL').default(defaultUrl))
    .option('--persons <count>', 'visitors of the shop, with about 40 events each', '500')
    .option('--remove', 'undo the import of the demo and delete its project')
    .option('--yes', 'skip the question of --remove')
    .action(async (options: DemoOptions) => {
      const showProgress = options.json !== true && options.output === undefined;
      const shown: Follow = (first, steps) => follow(terminal, first, steps, { progress: showProgress });
      await (options.remove === true ? remove(terminal, options, shown) : create(terminal, options, shown));
    });
  addOutputOptions(addProfileOption(addApiKeyOption(command)));
}

async function create(terminal: Terminal, options: DemoOptions, follow: Follow): Promise<void> {
  const persons = countOf('--persons', options.persons, 1);
  const existing = await findDemo(options);
  const demo =
    existing ??
    (await runUntilStopped(terminal.process, (signal) => {
      signal.addEventListener('abort', () =>
        terminal.note('the demo is incomplete; "millrace demo --remove" removes it'),
      );
      return createDemo(options, { persons, now: Date.now(), signal, follow });
    }));
  const record = await describeDemo(demo);
  await showRecord(terminal, options, record, () => showDemo(terminal, record));
  if (existing !== undefined) terminal.note('the service already had this demo; nothing was changed');
  terminal.note('"millrace login" prints a sign-in link, "millrace demo --remove" removes the demo');
}

function showDemo(terminal: Terminal, { project, import: run, ...demo }: DemoRecord): void {
  const totals = run?.totals;
  const imported =
    totals === undefined
      ? 'none'
      : `${run?.state}: ${numberText(totals.loaded)} events loaded, ${numberText(totals.rejected)} records rejected`;
  showFields(terminal, {
    project: `${project.id} "${project.name}"`,
    'project key': project.api_token,
    import: imported,
    'import apps': demo.import_apps.join(', '),
    transformations: demo.transformations.join(', '),
    console: demo.console_url,
  });
}

async function remove(terminal: Terminal, options: DemoOptions, follow: Follow): Promise<void> {
  const demo = await findDemo(options);
  if (demo === undefined) throw new CommandError('notFound', 'the service has no demo; "millrace demo" creates one');
  const { id, name } = demo.project;
  await confirm(terminal.process, `Delete project ${id} "${name}" permanently?`, options);
  await runUntilStopped(terminal.process, (signal) => removeDemo(demo, follow, signal));
  terminal.note(`deleted project ${id} "${name}"`);
}
