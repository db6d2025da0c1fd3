import type { Command } from 'commander';
import { nearest } from '../base/nearest.ts';
import { CommandError } from './exit-codes.ts';

/** Refuses unknown subcommands with `--help`, which would otherwise show the help of their group. Errors: usage. */
export function refuseUnknownSubcommand(program: Command, args: readonly string[]): void {
  if (!args.includes('--help') && !args.includes('-h')) return;
  let command = program;
  for (const word of args) {
    const { commands: below } = command;
    // `import <format>` is short for `import run <format>`.
    if (word.startsWith('-') || word === 'help' || below.length === 0 || command.name() === 'import') return;
    command = subcommandOf(command, word);
  }
}

/** Returns a subcommand by name or alias. Errors: usage. */
export function subcommandOf(command: Command, word: string): Command {
  const found = command.commands.find((each) => each.name() === word || each.aliases().includes(word));
  if (found !== undefined) return found;
  const names = command.commands.map((each) => each.name());
  const meant = nearest(word, names);
  const hint = meant === undefined ? `; its commands: ${names.join(', ')}` : `; did you mean ${meant}?`;
  throw new CommandError('usage', `${command.name()} has no command "${word}"${names.length === 0 ? '' : hint}`);
}
