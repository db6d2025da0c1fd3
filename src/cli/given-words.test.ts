import { execFileSync } from 'node:child_process';
import type { Command, Option } from 'commander';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isObject } from '../base/json.ts';
import { givenWords, keyPlaceholder, shellText } from './given-words.ts';
import { buildProgram } from './program.ts';
import { createTerminal } from './terminal.ts';

const env = { MILLRACE_URL: 'http://127.0.0.1:8100', MILLRACE_API_KEY: 'phx_of_the_environment', HOME: '/nowhere' };
const secrets: ReadonlySet<string> = new Set(['apiKey', 'projectKey']);

async function importCommand(): Promise<{ program: Command; run: Command }> {
  const program = await buildProgram(createTerminal({ ...process, env } as unknown as typeof process), 'import');
  const run = program.commands[0]?.commands.find((each) => each.name() === 'run');
  if (run === undefined) throw new Error('expected the command that imports');
  return { program, run };
}

/** The words of a command, and those with which it can be given again. */
async function parsed(words: readonly string[]) {
  const { program, run } = await importCommand();
  let told: readonly unknown[] = [];
  run.action((format: string, paths: readonly string[], options: object) => void (told = [format, paths, options]));
  await program.parseAsync(['import', ...words], { from: 'user' });
  return { told, again: shellText(givenWords(run).flat()) };
}

function wordsOfShell(text: string): string[] {
  const out = execFileSync('/bin/sh', ['-c', String.raw`printf '%s\0' ${text}`], { encoding: 'utf8' });
  return out.split('\0').slice(0, -1);
}

const word = fc.oneof(
  fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }),
  fc.constantFrom("it's", '$HOME', '`id`', 'a b', '--json', '-x', '*', '"', '\\', 'new\nline', 'é…'),
);

function argOf(option: Option): fc.Arbitrary<string[]> {
  const flag = option.long ?? '';
  if (option.isBoolean() || option.negate) return fc.constantFrom([], [flag]);
  const name = option.attributeName();
  const choices = option.argChoices;
  const value = (choices === undefined ? word : fc.constantFrom(...choices)).filter(
    (text) => !(secrets.has(name) && text.startsWith('@')) && !text.includes('\0'),
  );
  // A project's key given as --api-key is tested separately.
  const own = name === 'apiKey' ? value.map((text) => `phx_${text}`) : value;
  const isRepeated = option.parseArg !== undefined && choices === undefined;
  return fc.array(own, { maxLength: isRepeated ? 3 : 1 }).map((values) => values.flatMap((each) => [flag, each]));
}

const { run } = await importCommand();
const options = run.options.filter((option) => !option.hidden && option.attributeName() !== 'profile');

describe('the words of a command', () => {
  it('parse to the same options again, whatever was typed; keys are placeholders', () =>
    fc.assert(
      fc.asyncProperty(
        fc.tuple(...options.map(argOf)),
        fc.array(word.filter((text) => !text.includes('\0'))),
        async (given, paths) => {
          const first = await parsed([...given.flat(), '--', 'mixpanel', ...paths]);
          const second = await parsed(wordsOfShell(first.again));
          const [format, files, told] = first.told;
          if (!isObject(told)) throw new Error('expected options');
          const masked = Object.entries(told).map(([key, value]) => [
            key,
            secrets.has(key) && value !== undefined && value !== env.MILLRACE_API_KEY
              ? keyPlaceholder(String(value))
              : value,
          ]);
          expect(second.told).toEqual([format, files, Object.fromEntries(masked)]);
        },
      ),
      { numRuns: 60 },
    ));

  it('include an address of the environment but not its key; a key from a file is named by its file', async () => {
    const { again } = await parsed(['mixpanel', 'a', '--project-key', '@package.json']);
    expect(again).toBe('mixpanel a --to http://127.0.0.1:8100 --project-key @package.json');
  });
});
