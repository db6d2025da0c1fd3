import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';
import { parse } from 'yaml';
import { readBlocks, root, writtenPages, type Block } from './support/page-blocks.ts';
import { commandBlocks, isAmong, nameOf, notRun, runBy } from './support/page-commands.ts';

const blocks = writtenPages().flatMap(readBlocks);
const commands = commandBlocks();
const lists = [...Object.values(runBy).flat(), ...notRun];

/** Throws at what is no text of the language. */
const languages: Readonly<Record<string, (text: string) => unknown>> = {
  json: (text) => JSON.parse(text),
  yaml: (text) => parse(text),
  js: (text) => parseAst(text, { lang: 'js' }),
  ts: (text) => parseAst(text, { lang: 'ts' }),
};
/** Those of commands are run, see below; the page is loaded into a browser by test/e2e/posthog-js.test.ts. */
const others = new Set(['sh', 'sql', 'html', 'python', 'xml', 'text']);

describe('the blocks of the pages', () => {
  it('each shell block is run by one test, or listed as not runnable', () => {
    expect(commands.length).toBeGreaterThan(100);
    const held = (block: Block): number => lists.filter((which) => isAmong(block, which)).length;
    // None: have a test run it, in test/support/page-commands.ts. Several: make the rows there say more.
    expect(commands.filter((block) => held(block) !== 1).map((block) => `${nameOf(block)}: ${held(block)}`)).toEqual(
      [],
    );
  });

  it('every row of the lists matches an existing block', () => {
    const rows = lists.filter((which) => !commands.some((block) => isAmong(block, which)));
    expect(rows).toEqual([]);
  });

  it('a test runs all the blocks assigned to it', () => {
    const ends = /expect\(share\.left\(\)\)\.toEqual\(\[\]\)/;
    const files = Object.keys(runBy).map((file) => join(root, file));
    expect(files.filter((file) => !existsSync(file) || !ends.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('every block states its language, so that no command is overlooked', () => {
    const unknown = blocks.filter(({ language }) => !(language in languages) && !others.has(language));
    expect(unknown.map((block) => `${nameOf(block)} (${block.language})`)).toEqual([]);
    const hidden = blocks.filter(
      ({ language, text }) => language === 'text' && /^(\$ |npx |sudo |[\w/.-]+\.sh )/m.test(text),
    );
    expect(hidden.map(nameOf)).toEqual([]);
  });

  it.each(Object.entries(languages))('those in %s can be parsed', (language, read) => {
    const own = blocks.filter((block) => block.language === language);
    expect(own.length).toBeGreaterThan(0);
    const wrong = own.flatMap((block) => {
      try {
        read(block.text);
        return [];
      } catch (error) {
        return [`${nameOf(block)}: ${String(error)}`];
      }
    });
    expect(wrong).toEqual([]);
  });
});
