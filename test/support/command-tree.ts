import type { Command } from 'commander';
import { completeIdsName } from '../../src/cli/completion-script.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { createTerminal } from '../../src/cli/terminal.ts';

/** Every command that does something, by its words after `millrace`. */
export async function commandTree(): Promise<ReadonlyMap<string, Command>> {
  const program = await buildProgram(createTerminal({ ...process, env: {} } as typeof process));
  return new Map(commandsOf(program).filter(([path]) => path !== completeIdsName));
}

function commandsOf(command: Command, path: readonly string[] = []): [string, Command][] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((each) => commandsOf(each, [...path, each.name()]));
}
