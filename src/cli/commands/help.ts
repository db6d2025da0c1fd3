import type { Command } from 'commander';
import { CommandError } from '../exit-codes.ts';
import { nearest } from '../../base/nearest.ts';

/** Shows the help of a command at any depth: `millrace help import run`. */
export function helpCommand(parent: Command): void {
  parent
    .command('help')
    .argument('[command...]', 'words of the command')
    .action((words: readonly string[]) => words.reduce(subcommandOf, parent).outputHelp());
}

/** Errors: usage. */
function subcommandOf(command: Command, word: string): Command {
  const names = command.commands.map((each) => each.name());
  const found = command.commands[names.indexOf(word)];
  if (found !== undefined) return found;
  const meant = nearest(word, names);
  const hint = meant === undefined ? `; its commands: ${names.join(', ')}` : `; did you mean ${meant}?`;
  throw new CommandError('usage', `${command.name()} has no command "${word}"${names.length === 0 ? '' : hint}`);
}
