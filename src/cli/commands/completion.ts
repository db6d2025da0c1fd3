import { Argument, type Command } from 'commander';
import { completionScript, shells, type Shell } from '../completion-script.ts';
import type { Terminal } from '../terminal.ts';

export function completionCommand(parent: Command, terminal: Terminal): void {
  parent
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .description('print a completion script, e.g. source <(millrace completion bash)')
    .action((shell: Shell) => terminal.data(completionScript(shell, parent)));
}
