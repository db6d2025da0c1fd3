import { describe, expect, it } from 'vitest';
import { commandTree } from '../../test/support/command-tree.ts';
import { buildProgram } from './program.ts';
import { createTerminal } from './terminal.ts';

const terminal = createTerminal({ ...process, env: {} } as typeof process);
const firstWords = [...new Set([...(await commandTree()).keys()].map((path) => path.split(' ')[0] ?? ''))];

describe('the command line', () => {
  it.each(firstWords)('loads %s when it is called', async (word) => {
    const { commands } = await buildProgram(terminal, word);
    expect(commands.map((command) => command.name())).toContain(word);
  });

  it.each(['evnts', 'live'])('refuses the unknown command %s, also with --help', async (word) => {
    await expect(buildProgram(terminal, word)).rejects.toThrow(`expected a command, got: ${word}`);
  });

  it.each(['completion', 'help', '--help', undefined])('has all commands for %s', async (word) => {
    const { commands } = await buildProgram(terminal, word);
    expect(commands.map((command) => command.name())).toEqual(expect.arrayContaining(firstWords));
  });

  it('lists commands in its help, which loads none, as they are', async () => {
    const [listed, loaded] = await Promise.all([buildProgram(terminal, '--help'), buildProgram(terminal)]);
    expect(listed.commands.every((command) => command.options.length === 0)).toBe(true);
    expect(listed.helpInformation()).toBe(loaded.helpInformation());
  });

  it('loads only one command', async () => {
    const { commands } = await buildProgram(terminal, 'configs');
    expect(commands.map((command) => command.name())).toEqual(['configs']);
  });
});
