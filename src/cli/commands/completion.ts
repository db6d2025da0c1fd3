import { Argument, type Command } from 'commander';
import { addServiceOptions } from '../api-options.ts';
import { completeIds, type CompleteOptions } from '../completion/complete-ids.ts';
import { askForIds, completionScript, shells, type Shell } from '../completion/completion-script.ts';
import { idKinds, type IdKind } from '../completion/id-kinds.ts';
import { settleOptions } from '../settle-options.ts';
import { printable, type Terminal } from '../terminal.ts';

export function completionCommand(parent: Command, terminal: Terminal): void {
  parent
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .description('print a completion script, e.g. source <(millrace completion bash)')
    .action((shell: Shell) => terminal.data(completionScript(shell, parent)));
  idsCommand(parent, terminal);
}

/** For the script: ids, with a tab and what they are of. Nothing where there is no way in. */
function idsCommand(parent: Command, terminal: Terminal): void {
  addServiceOptions(parent.command(askForIds, { hidden: true }))
    .addArgument(new Argument('<kind>', 'of what').choices(idKinds))
    .argument('[words...]', 'what is typed so far')
    .option('--config <id>', 'of which config the runs are')
    .description('print ids for the shell')
    .action(async (kind: IdKind, words: readonly string[], _: unknown, command: Command) => {
      takeTyped(command, words);
      settleOptions(command, terminal);
      const found = await completeIds(kind, command.opts<CompleteOptions>(), terminal.process);
      for (const { id, label } of found) terminal.data(`${id}\t${printable(label)}`);
    });
}

/** Of what is typed: options that say which server, and what of it. The last word may lack its value. */
function takeTyped(command: Command, words: readonly string[]): void {
  for (const [at, word] of words.entries()) {
    const [flag = '', ...rest] = word.split('=');
    const value = rest.length > 0 ? rest.join('=') : words[at + 1];
    const option = command.options.find(({ long }) => long === flag);
    if (option !== undefined && value !== undefined) {
      command.setOptionValueWithSource(option.attributeName(), value, 'cli');
    }
  }
}
