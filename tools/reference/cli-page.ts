import type { Command, Option } from 'commander';
import { completeIdsName } from '../../src/cli/completion-script.ts';
import { examplesOf } from '../../src/cli/examples.ts';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { settingDefinitions } from '../../src/server/config/settings.ts';
import { headingAnchor } from '../../docs/.vitepress/heading-anchor.ts';
import { code, page, table } from './markdown.ts';

const program = await buildProgram(createTerminal(process));

const commands = program.commands.filter((command) => command.name() !== completeIdsName);

/** Subcommands of `import` that need no service; the others are on a second page. */
const localImports: ReadonlySet<string> = new Set(['run', 'check', 'plan', 'preflight', 'example']);

interface CommandPage {
  /** File name below docs/reference/cli, without `.md`. */
  readonly name: string;
  readonly title: string;
  /** As a help group names it. */
  readonly group: string;
  readonly about: string;
  readonly parts: readonly Section[];
}

interface Section {
  readonly heading: string;
  readonly description: string;
  readonly body: readonly string[];
}

const commandPages: readonly CommandPage[] = commands.flatMap((command): CommandPage[] => {
  const name = command.name();
  const parts = sections(command, [program.name()]);
  const [group, about] = [command.helpGroup().replace(/:$/, ''), `${upperFirst(command.description())}.`];
  if (name !== 'import') return [{ name, title: `millrace ${name}`, group, about, parts }];
  const isLocal = ({ heading }: Section): boolean => localImports.has(heading.split(' ')[2] ?? '');
  return [
    { name, title: 'millrace import', group, about, parts: parts.filter(isLocal) },
    {
      name: 'import-runs',
      title: 'millrace import: runs of a service',
      group,
      about: 'Start, follow, pause, verify and undo import runs of a running service.',
      parts: parts.filter((part) => !isLocal(part)),
    },
  ];
});

/** The index of all commands. */
export function cliPage(): string {
  const about =
    'Data goes to stdout, messages go to stderr. `--json` prints JSON. There is no colour without a ' +
    'terminal or with `NO_COLOR`. Commands that cannot be undone ask first; without a terminal they need `--yes`. Commands that ' +
    'use a running service take its address and key from `MILLRACE_URL` and `MILLRACE_API_KEY`, or from a profile (`profiles add`, ' +
    '`--profile`, `MILLRACE_PROFILE`). Options that are ' +
    'settings (`--data-dir`, …) are described in [settings](settings.md).';
  const codes = [
    '## Exit codes',
    table(
      ['Exit code', 'Meaning'],
      Object.values(exitCodes).map((each) => [String(each.code), each.meaning]),
    ),
    'What to do about the exit code of an import: [troubleshooting](../troubleshooting.md#import-history).',
  ];
  const groups = [...new Set(commandPages.map(({ group }) => group))];
  const index = groups.flatMap((group) => [
    `## ${group}`,
    table(['Command', 'What it does'], commandPages.filter((each) => each.group === group).flatMap(indexRows)),
  ]);
  return page('Command line', about, ...index, ...codes);
}

function indexRows({ name, parts }: CommandPage): string[][] {
  return parts.map(({ heading, description }) => [
    `[${code(heading)}](cli/${name}.md#${headingAnchor(heading)})`,
    description,
  ]);
}

/** One page per command, by path from the root. */
export const cliPages: Readonly<Record<string, () => string>> = Object.fromEntries(
  commandPages.map(({ name, title, about, parts }) => [
    `docs/reference/cli/${name}.md`,
    () => {
      // A command without subcommands has one section, which says what it does.
      const introduction = parts.length > 1 ? about : '';
      const text = parts.flatMap(({ heading, description, body }) => [`## ${code(heading)}`, description, ...body]);
      return page(title, introduction, ...text, '[All commands](../cli.md)');
    },
  ]),
);

function sections(command: Command, path: readonly string[]): Section[] {
  const here = [...path, command.name()];
  if (command.commands.length > 0) return command.commands.flatMap((each) => sections(each, here));
  const args = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  );
  const rows = [
    ...command.registeredArguments.map((argument) => [code(argument.name()), argument.description]),
    ...command.options
      .filter((option) => !isSetting(option) && !option.hidden)
      .map((option) => [code(option.flags), optionText(option)]),
  ];
  const settings = command.options.filter(isSetting);
  const body = [
    ...(rows.length > 0 ? [table(['Argument or option', 'Meaning'], rows)] : []),
    ...(settings.length > 0
      ? [`Settings: ${settings.length > 5 ? 'all of them' : settings.map(({ long }) => code(long ?? '')).join(', ')}.`]
      : []),
    ['```sh', ...examplesOf(here.slice(1).join(' ')), '```'].join('\n'),
  ];
  return [{ heading: [...here, ...args].join(' '), description: `${upperFirst(command.description())}.`, body }];
}

function isSetting(option: Option): boolean {
  return option.attributeName() in settingDefinitions || option.attributeName() === 'configFile';
}

function optionText({ description, argChoices, defaultValue, mandatory }: Option): string {
  const shown = defaultValue !== undefined && typeof defaultValue !== 'boolean';
  return [
    upperFirst(description),
    argChoices === undefined ? '' : `One of ${argChoices.map(code).join(', ')}`,
    mandatory && !shown ? 'Required' : '',
    shown ? `Default ${code(String(defaultValue))}` : '',
  ]
    .filter(Boolean)
    .join('. ');
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
