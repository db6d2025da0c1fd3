import { describe, expect, it } from 'vitest';
import { runCommand } from '../../test/support/command.ts';
import { commandTree } from '../../test/support/command-tree.ts';
import { examples, examplesOf } from './examples.ts';

const commands = await commandTree();

/** The words after `millrace`, as a shell gives them. */
function wordsOf(example: string): string[] {
  const [, line = ''] = /\bmillrace ([^|<>)]+)/.exec(example) ?? [];
  return (line.match(/'[^']*'|"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^(['"])(.*)\1$/, '$2'));
}

describe('examples', () => {
  it('every command has one, and unknown commands have no examples', () => {
    expect(Object.keys(examples).filter((path) => path !== '')).toEqual(expect.arrayContaining([...commands.keys()]));
    expect([...commands.keys(), '']).toEqual(expect.arrayContaining(Object.keys(examples)));
  });

  const all = [...commands].flatMap(([path, command]) =>
    examplesOf(path).map((text) => [text, path, command] as const),
  );
  it.each(all)('%s parses', (text, path, command) => {
    const words = wordsOf(text);
    const begin = path === 'import run' ? ['import'] : path.split(' ');
    expect(words.slice(0, begin.length)).toEqual(begin);
    const { operands, unknown } = command.parseOptions(words.slice(begin.length));
    expect(unknown).toEqual([]);
    const { registeredArguments: known } = command;
    expect(operands.length).toBeGreaterThanOrEqual(known.filter(({ required }) => required).length);
    const most = known.some(({ variadic }) => variadic) ? Infinity : known.length;
    expect(operands.length).toBeLessThanOrEqual(most);
  });

  it.each(['configs update --help', 'configs --help', '--help', 'help configs update', 'help import run'])(
    'millrace %s shows them',
    async (args) => {
      const { code, stdout } = await runCommand(args.split(' '));
      expect(code).toBe(0);
      expect(stdout).toMatch(/\nExamples:\n {2}millrace [a-z]/);
    },
  );
});
