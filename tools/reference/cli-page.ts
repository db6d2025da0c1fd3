import type { Command, Option } from 'commander';
import { completeIdsName } from '../../src/cli/completion-script.ts';
import { examplesOf } from '../../src/cli/examples.ts';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { settingDefinitions } from '../../src/server/config/settings.ts';
import { code, page, table } from './markdown.ts';

const program = await buildProgram(createTerminal(process));

export function cliPage(): string {
  const about =
    'Data goes to stdout, messages go to stderr. `--json` prints JSON. There is no colour without a ' +
    'terminal or with `NO_COLOR`. Commands that cannot be undone ask first; without a terminal they need `--yes`. Commands that ' +
    'use a running service take its address and key from `MILLRACE_URL` and `MILLRACE_API_KEY`, or from a profile (`profiles add`, ' +
    '`--profile`, `MILLRACE_PROFILE`). Options that are ' +
    'settings (`--data-dir`, …) are described in [settings](settings.md). What to do about the exit code of an import: ' +
    '[troubleshooting](../troubleshooting.md#import-history).';
  const codes = table(
    ['Exit code', 'Meaning'],
    Object.values(exitCodes).map((each) => [String(each.code), each.meaning]),
  );
  return page(
    'Command line',
    about,
    codes,
    ...program.commands
      .filter((command) => command.name() !== completeIdsName)
      .flatMap((command) => sections(command, [program.name()])),
  );
}

function sections(command: Command, path: readonly string[]): string[] {
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
  return [
    `## ${code([...here, ...args].join(' '))}`,
    `${upperFirst(command.description())}.`,
    ...(rows.length > 0 ? [table(['Argument or option', 'Meaning'], rows)] : []),
    ...(settings.length > 0
      ? [`Settings: ${settings.length > 5 ? 'all of them' : settings.map(({ long }) => code(long ?? '')).join(', ')}.`]
      : []),
    ['```sh', ...examplesOf(here.slice(1).join(' ')), '```'].join('\n'),
  ];
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
