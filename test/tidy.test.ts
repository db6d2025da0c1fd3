import { describe, expect, it } from 'vitest';
import { allFiles, isAstNode, isMember, parseFiles, read, type AstNode, type SourceFile } from './source-tree.ts';

const functionLinesMax = 70;
const fileLinesMax = 500;
const lineLengthMax = 120;

/**
 * Functions that are longer than the limit, with the length that they may not pass. An entry goes as soon as its
 * function is short enough; none is ever added for new code.
 */
const longFunctions: Readonly<Record<string, number>> = {};

const isFixture = (path: string): boolean => path.endsWith('.fixture.ts');
/** What a product exports, as every test of imports may use it. */
const isSampleOfFormat = /^src\/imports\/formats\/[^/]+\/records\.fixture\.ts$/;
const isTest = (path: string): boolean => path.endsWith('.test.ts');
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

const files = allFiles();
const isCode = (path: string): boolean => /\.(ts|tsx|js|mjs)$/.test(path);
const isGenerated = (path: string): boolean => path.startsWith('docs/reference/');
const isLockFile = (path: string): boolean => path.endsWith('package-lock.json');
const isText = (path: string): boolean =>
  /(\.(ts|tsx|js|mjs|json|md|ya?ml|sh|html|css|sql|toml)|\/run|Dockerfile)$/.test(path) && !isLockFile(path);
const sources = parseFiles(files.filter(isCode));
const byPath = new Map(sources.map((file) => [file.path, file]));

function findings(check: (file: SourceFile) => readonly string[]): string[] {
  return sources.flatMap((file) => check(file).map((finding) => `${file.path}: ${finding}`));
}

function lineFindings(path: string, pattern: RegExp): string[] {
  return read(path)
    .split('\n')
    .flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : []));
}

describe('the code base is tidy', () => {
  it('the rules find the code', () => {
    expect(sources.length).toBeGreaterThan(30);
    expect(sources.flatMap((file) => file.functions).length).toBeGreaterThan(50);
    expect(sources.flatMap((file) => file.imports).length).toBeGreaterThan(50);
  });

  it(`no function is longer than ${functionLinesMax} lines`, () => {
    const tooLong = findings((file) =>
      file.functions
        .filter(({ name, length }) => length > (longFunctions[`${file.path}#${name}`] ?? functionLinesMax))
        .map(({ name, line, length }) => `${name} (line ${line}) has ${length} lines; split it`),
    );
    expect(tooLong).toEqual([]);
  });

  it('every entry of the list of long functions is still needed', () => {
    const needed = new Set(
      sources.flatMap((file) =>
        file.functions.filter((each) => each.length > functionLinesMax).map((each) => `${file.path}#${each.name}`),
      ),
    );
    expect(Object.keys(longFunctions).filter((entry) => !needed.has(entry))).toEqual([]);
  });

  it(`no file is longer than ${fileLinesMax} lines`, () => {
    expect(
      findings(({ lines }) => (lines.length > fileLinesMax + 1 ? [`${lines.length} lines; split it`] : [])),
    ).toEqual([]);
  });

  it(`no line of code is longer than ${lineLengthMax} characters`, () => {
    // A line that holds one long literal (an address, a key, a captured message) or a comment beside a type cannot be broken.
    const tooLong = findings(({ lines }) =>
      lines.flatMap((line, index) =>
        line.length > lineLengthMax && !/(\/\/|\*|['"`/]).{60,}/.test(line) ? [`line ${index + 1}`] : [],
      ),
    );
    expect(tooLong).toEqual([]);
  });

  it('no work is deferred in comments', () => {
    const marks = /\b(T[O]DO|F[I]XME|H[A]CK|X[X]X)\b/;
    expect(files.filter(isText).flatMap((path) => lineFindings(path, marks))).toEqual([]);
  });

  it('the type checker is never disabled', () => {
    const silenced = /@ts-(ignore|nocheck|expect-error)/;
    const inText = files.filter(isCode).flatMap((path) => lineFindings(path, silenced));
    const anyTypes = findings((file) =>
      file.nodes.filter((node) => node.type === 'TSAnyKeyword').map((node) => `any at line ${file.lineOf(node.start)}`),
    );
    expect([...inText.filter((finding) => !finding.startsWith('test/tidy')), ...anyTypes]).toEqual([]);
  });

  it('no module of src keeps state: state belongs to objects that a caller creates', () => {
    // What runs inside an isolate is a module of that isolate.
    const shared = ({ path }: SourceFile): boolean =>
      path.startsWith('src/') && !path.startsWith('src/plugins/sandbox/guest/') && !isTest(path);
    const state = /^(export )?(let |const \w+(: [^=]+)? = new (Map|Set|WeakMap|WeakSet|LRUCache)(<.*>)?\((\{.*)?\))/;
    const readonly = /^(export )?const \w+: Readonly(Map|Set)</;
    const found = sources
      .filter(shared)
      .flatMap(({ path }) => lineFindings(path, state).filter((line) => !readonly.test(line.replace(/^[^ ]+ /, ''))));
    expect(found).toEqual([]);
  });

  it('only syntax that Node can strip: no enum, namespace or decorator', () => {
    const refused = new Set(['TSEnumDeclaration', 'TSModuleDeclaration', 'Decorator', 'TSParameterProperty']);
    const found = findings((file) =>
      file.nodes
        .filter((node) => refused.has(node.type) && node['declare'] !== true)
        .map((node) => `${node.type} at line ${file.lineOf(node.start)}`),
    );
    expect(found).toEqual([]);
  });

  it('files are named in kebab-case after what they hold, never utils or helpers', () => {
    const bad = files.filter((path) => {
      if (!isCode(path)) return false;
      const name = path.split('/').at(-1) ?? '';
      return !/^[a-z0-9]+([-.][a-z0-9]+)*$/.test(name) || /^(utils?|helpers?|common|misc|lib)\./.test(name);
    });
    const badFolders = files.filter((path) => /(^|\/)(utils?|helpers?|common|misc)\//.test(path));
    expect([...bad, ...badFolders]).toEqual([]);
  });

  it('no file of src exists only for tests: the program or a script uses it', () => {
    const reached = reachedFrom([...byPath.keys()].filter((path) => /^(bin|tools)\/|^src\/main\.ts$/.test(path)));
    // Declarations are read by the type checker alone.
    const testSide = (path: string): boolean => isTest(path) || isFixture(path) || path.endsWith('.d.ts');
    const unreached = [...byPath.keys()].filter((path) => path.startsWith('src/') && !reached.has(path));
    expect(unreached.filter((path) => !testSide(path))).toEqual([]);
  });

  it('no test support is unused: a test, a script or a suite uses it', () => {
    const setups = read('vitest.config.ts').matchAll(/(?:globalSetup: \['|from '\.\/)(test\/[^']+)'/g);
    const called = new Set(Array.from(setups, ([, path]) => path));
    const users = [...byPath.keys()].filter((path) => isTest(path) || /^(tools|\.ci)\//.test(path) || called.has(path));
    const support = [...byPath.keys()].filter((path) => path.startsWith('test/') || isFixture(path));
    const reached = reachedFrom(users);
    expect(support.filter((path) => !reached.has(path) && !path.endsWith('.d.ts'))).toEqual([]);
  });

  it('a folder of src has at most one fixture, used only there: shared fixtures are in test/support', () => {
    const fixtures = [...byPath.keys()].filter((path) => path.startsWith('src/') && isFixture(path));
    const folders = fixtures.map(folderOf);
    const second = fixtures.filter((path, index) => folders.indexOf(folderOf(path)) < index);
    const usedAbroad = sources.flatMap(({ path, imports }) =>
      imports
        .flatMap(({ target }) => (target !== undefined && fixtures.includes(target) ? [target] : []))
        .filter((target) => folderOf(target) !== folderOf(path) && !isSampleOfFormat.test(target))
        .map((target) => `${path} imports ${target}`),
    );
    expect([...second, ...usedAbroad]).toEqual([]);
  });

  it.each(['CONTRIBUTING.md', 'ARCHITECTURE.md', 'STYLE.md'])('%s names files and folders that exist', (page) => {
    expect(pathsIn(page).filter((path) => !existsIn(files, path))).toEqual([]);
  });

  it('a unit test leaves its environment as it found it: others run in the same process', () => {
    const inUnitTests = ({ path }: SourceFile): boolean =>
      /(\.(test|fixture)|-conformance)\.ts$|^test\/support\//.test(path) && !path.startsWith('test/e2e/');
    const changed = sources
      .filter(inUnitTests)
      .flatMap((file) =>
        file.nodes.filter(changesEnvironment).map((node) => `${file.path}:${file.lineOf(node.start)}: use vi.stubEnv`),
      );
    expect(changed).toEqual([]);
  });

  it('no path of one machine, no address of a registry', () => {
    const machinePath = /(^|[\s"'`(=])\/(work|tmp|home|root|Users)\/[a-z]/;
    const inText = files.filter((path) => isText(path)).flatMap((path) => lineFindings(path, machinePath));
    // .npmrc keeps them out.
    const addresses = read('package-lock.json').match(/"resolved": "https?:[^"]+"/g) ?? [];
    expect([...inText, ...addresses]).toEqual([]);
  });

  it('the licence is one and the same everywhere, and there is a way to report a vulnerability', () => {
    const { license } = JSON.parse(read('package.json')) as { license?: string };
    const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, { license?: string }> };
    expect([license, lock.packages['']?.license]).toEqual(['MIT', 'MIT']);
    expect(read('LICENSE')).toMatch(/^MIT License\n\nCopyright \(c\) \d{4} The Millrace authors\n/);
    const headings = read('SECURITY.md').match(/^## .*$/gm);
    expect(headings).toEqual(['## Reporting', '## Supported', '## What is a vulnerability here', '## What is not']);
    expect(read('README.md')).toContain('](SECURITY.md)');
  });

  it('generated pages are made by the generator only', () => {
    const byHand = files.filter(
      (path) => isGenerated(path) && path.endsWith('.md') && !read(path).startsWith('<!-- Generated by'),
    );
    expect(byHand).toEqual([]);
  });
});

/** `process.env.NAME = …` or `delete process.env.NAME`: vi.stubEnv does it for one test. */
function changesEnvironment(node: AstNode): boolean {
  const target =
    node.type === 'AssignmentExpression' ? node['left'] : node.type === 'UnaryExpression' && node['argument'];
  return isAstNode(target) && isAstNode(target['object']) && isMember(target['object'], 'process', 'env');
}

/** All that the given files import, themselves included. */
function reachedFrom(entries: readonly string[]): Set<string> {
  const reached = new Set(entries);
  // A set also iterates over items added during the iteration.
  for (const path of reached) {
    for (const { target } of byPath.get(path)?.imports ?? []) if (target !== undefined) reached.add(target);
  }
  return reached;
}

/** What a page names in backticks that looks like a path: with a slash that begins at a folder of ours, or a file's bare name. */
function pathsIn(page: string): string[] {
  const named = [...read(page).matchAll(/`([^`\s]+)`/g)].map(([, text = '']) => text);
  const tops = new Set(files.map((path) => path.split('/')[0]));
  return named.filter((text) =>
    text.includes('/') ? tops.has(text.split('/')[0]) : /^[a-z0-9.-]+\.(ts|js|json|md|yml)$/.test(text),
  );
}

/** A path from the root or a file's bare name; `*` and `<name>` stand for one name, `{a,b}` for one of them. */
function existsIn(all: readonly string[], path: string): boolean {
  const pattern = path
    .replace(/\/$/, '')
    .replace(/[.+?^$()|[\]\\]/g, '\\$&')
    .replace(/<[^>]*>|\*/g, '[^/]+')
    .replace(/\{([^}]*)\}/g, (_braces, names: string) => `(${names.replaceAll(',', '|')})`);
  const place = path.includes('/') ? '^' : '(^|/)';
  return all.some((each) => new RegExp(`${place}${pattern}(/|$)`).test(each));
}
