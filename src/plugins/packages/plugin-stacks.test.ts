import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IsolatedSandbox } from '../sandbox/create-sandbox.ts';
import { SandboxError, type LogLine } from '../sandbox/sandbox.ts';
import { errorOf, eventOf, openTestSandbox, specOf } from '../../../test/support/sandbox.ts';
import { bundle } from './bundle.ts';

let sandbox: IsolatedSandbox;
beforeAll(() => {
  sandbox = openTestSandbox();
});
afterAll(() => sandbox.close());

type Texts = Readonly<Record<string, string>>;

async function codeOf(texts: Texts): Promise<string> {
  const [entry = ''] = Object.keys(texts);
  return (await bundle(new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)])), entry)).code;
}

/** The places in the stack of what processEvent throws. */
async function placesOf(code: string): Promise<string[]> {
  const instance = await sandbox.open(specOf(code));
  const [outcome] = await instance.processEvents([eventOf('a')]);
  await instance.close();
  return [...(errorOf(outcome)?.pluginStack ?? '').matchAll(/[\w./-]+:\d+:\d+/g)].map(([place]) => place);
}

const typed = ['interface Unused {', '  readonly a: string;', '}', '', 'type Also = Unused;', ''];

describe('stack traces of a plugin name files and lines of the author', () => {
  it.each<[string, Texts, readonly string[]]>([
    [
      'TypeScript of several files',
      {
        'src/index.ts': [
          ...typed,
          "import { check } from './checks/check';",
          'export function processEvent(event: object) {',
          '  check(event as Also);',
          '}',
        ].join('\n'),
        'src/checks/check.ts': [
          ...typed,
          'export const check = (event: object) => {',
          "  throw new Error('x')",
          '}',
        ].join('\n'),
      },
      ['src/checks/check.ts:8:9', 'src/index.ts:9:3'],
    ],
    [
      'a module',
      { 'mine.js': '// what it does\n\nexport function processEvent(event) {\n    return event.a.b\n}' },
      ['mine.js:4:20'],
    ],
    ['a script of another name', { 'mine.js': 'function processEvent() { throw new Error() }' }, ['mine.js:1:33']],
    ['index.js as it is', { 'index.js': '\nfunction processEvent() { throw new Error() }' }, ['index.js:2:33']],
  ])('%s', async (_name, texts, places) => {
    expect(await placesOf(await codeOf(texts))).toEqual(places);
  });

  it('also in its logs, and when its setup fails', async () => {
    const lines: LogLine[] = [];
    const code = await codeOf({
      'log.ts': [
        ...typed,
        'export function setupPlugin() {',
        '  console.error(new Error("oh").stack)',
        '  throw 1',
        '}',
      ].join('\n'),
    });
    const spec = specOf(code);
    const services = { ...spec.services, log: (line: LogLine) => void lines.push(line) };
    await expect(sandbox.open({ ...spec, services })).rejects.toThrow(SandboxError);
    expect(lines.map(({ message }) => message).join('\n')).toContain('log.ts:8:17');
  });

  it.each(['no JSON', '{"sections":5}', '{"mappings":"!!!"}', 'null'])(
    'an own source map that is %s changes nothing',
    async (map) => {
      const code = 'function processEvent() { throw new Error() }';
      const comment = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`;
      expect(await placesOf(code + comment)).toEqual(['index.js:1:34']);
    },
  );
});
