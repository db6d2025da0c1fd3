import type { Command } from 'commander';
import { subcommandOf } from '../subcommand-of.ts';

/** Shows the help of a command at any depth: `millrace help import run`. */
export function helpCommand(parent: Command): void {
  parent
    .command('help')
    .argument('[command...]', 'words of the command')
    .action((words: readonly string[]) => words.reduce(subcommandOf, parent).outputHelp());
}
