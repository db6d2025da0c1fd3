import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bundle } from './bundle.ts';
import { buildFrontend } from './prepare-plugin.ts';
import type { PackageFiles } from './package-files.ts';
import { loadScript } from '../../../test/support/describe-plugin.ts';

function filesOf(texts: Readonly<Record<string, string>>): PackageFiles {
  return new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)]));
}

async function load(texts: Readonly<Record<string, string>>, provide?: (name: string) => unknown) {
  const [entry = ''] = Object.keys(texts);
  const { code, inputs } = await bundle(filesOf(texts), entry);
  return { code, inputs, ...loadScript(code, provide) };
}

type Call = (...args: unknown[]) => unknown;

describe('a plugin of one file', () => {
  it.each([
    ['a script', 'function processEvent(event) { return event }'],
    ['CommonJS', 'module.exports = { processEvent(event) { return event } }'],
    ['a script in sloppy mode', 'function processEvent(event) { seen = event; with (event) { return seen } }'],
    ['a minified bundle', 'var a=1,b=2,c=3;exports.processEvent=function(e){return a<b>(c),e}'],
    ['a bundle of esbuild', readFileSync('node_modules/@posthog/user-agent-app/dist/index.js', 'utf8')],
  ])('%s stays as it is, byte for byte', async (_name, text) => {
    const { code, exported } = await load({ 'index.js': text });
    expect(code).toBe(text);
    expect(exported['processEvent']).toBeTypeOf('function');
  });

  it('a script without exports keeps its functions at the top level, also as TypeScript', async () => {
    const text =
      "import type { Plugin } from '@posthog/plugin-scaffold'\nfunction processEvent(event: object) { return event }";
    const { code, exported, required } = await load({ 'index.ts': text });
    expect(exported['processEvent']).toBeTypeOf('function');
    expect(code).not.toContain('require');
    expect(required).toEqual([]);
  });

  it('does not become strict, and its own strict mode is inert: undeclared variables may be assigned', async () => {
    const body = 'function processEvent(event: { a: number }) { undeclared = event.a; return undeclared }';
    for (const text of [body, `export ${body}`, `"use strict";\n${body}`, `"use strict"\nexport ${body}`]) {
      const { exported } = await load({ 'index.ts': text });
      expect((exported['processEvent'] as Call)({ a: 5 })).toBe(5);
    }
  });

  it('imports become require, types and unused imports vanish, also in .js', async () => {
    const text = [
      "import { createHash } from 'crypto'",
      "import { PluginEvent } from '@posthog/plugin-scaffold'",
      "import type { Other } from 'not-installed'",
      'export const processEvent = (event) => createHash(event)',
    ].join('\n');
    for (const path of ['index.ts', 'index.js']) {
      const { exported, required } = await load({ [path]: text }, () => ({ createHash: (x: unknown) => [x] }));
      expect(required).toEqual(['crypto']);
      expect((exported['processEvent'] as Call)(1)).toEqual([1]);
    }
  });

  it('default and namespace imports both give the module itself, also to be called', async () => {
    const text = [
      "import * as all from 'node-fetch'",
      "import one from 'node-fetch'",
      "import { Headers } from 'node-fetch'",
      'export function processEvent() { return [all("a"), one("b"), Headers] }',
    ].join('\n');
    const fetch = Object.assign((url: string) => `got ${url}`, { Headers: 'h' });
    const { exported } = await load({ 'index.ts': text }, () => fetch);
    expect((exported['processEvent'] as Call)()).toEqual(['got a', 'got b', 'h']);
  });

  it('exports are placed where they are looked up first, next to a default export', async () => {
    const text = 'export default { processEvent: () => 1 }\nexport const jobs = { a: () => 2 }';
    const { exported } = await load({ 'index.ts': text });
    expect(Object.keys(exported).sort()).toEqual(['default', 'jobs', 'processEvent']);
  });

  it('may import and assign module.exports', async () => {
    const text = "import { createHash } from 'crypto'\nmodule.exports = { processEvent: () => createHash() }";
    const { exported } = await load({ 'index.ts': text }, () => ({ createHash: () => 'h' }));
    expect((exported['processEvent'] as Call)()).toBe('h');
  });

  it('may hold TypeScript in a .js file', async () => {
    const { exported } = await load({
      'index.js': 'export function processEvent(event: any): any { return event as any }',
    });
    expect(exported['processEvent']).toBeTypeOf('function');
  });
});

describe('a plugin of several files', () => {
  it('becomes one script: TypeScript, JSON, folders, CommonJS and its own packages', async () => {
    const { exported, required, inputs } = await load({
      'src/index.ts': [
        "import { double } from './lib'",
        "import rates from '../data/rates.json'",
        "import legacy from './legacy.js'",
        "import tiny from 'tiny'",
        "import { RetryError } from '@posthog/plugin-scaffold'",
        'export const processEvent = (n: number) => [double(n), rates.eur, legacy.name, tiny(n), RetryError]',
      ].join('\n'),
      'src/lib/index.ts': 'export const double = (n: number): number => n * 2',
      'src/legacy.ts': 'export default { name: "legacy" }',
      'data/rates.json': '{ "eur": 1.1 }',
      'node_modules/tiny/package.json': '{ "main": "./lib/main" }',
      'node_modules/tiny/lib/main.js': 'const { one } = require("./one"); module.exports = (n) => n + one',
      'node_modules/tiny/lib/one.js': 'exports.one = 1',
      'node_modules/@posthog/plugin-scaffold/index.js': 'throw new Error("the one of the sandbox is to be used")',
    });
    expect((exported['processEvent'] as Call)(4)).toEqual([8, 1.1, 'legacy', 5, undefined]);
    expect(required).toEqual(['@posthog/plugin-scaffold']);
    expect(inputs).toHaveLength(6);
    expect(inputs[0]).toBe('src/index.ts');
  });

  it('a CommonJS script without exports keeps its functions', async () => {
    const { exported } = await load({
      'index.js': 'const { seen } = require("./seen"); function processEvent() { return seen }',
      'seen.js': 'undeclared = "seen"; exports.seen = undeclared',
    });
    expect((exported['processEvent'] as Call)()).toBe('seen');
  });

  it('a package may name its entry by conditions', async () => {
    const exports = { '.': { import: './esm.mjs', require: { node: './cjs.cjs' } } };
    const { exported } = await load({
      'index.ts': "import { x } from 'both'\nexport const processEvent = () => x",
      'node_modules/both/package.json': JSON.stringify({ exports }),
      'node_modules/both/cjs.cjs': 'exports.x = "cjs"',
    });
    expect((exported['processEvent'] as Call)()).toBe('cjs');
  });
});

describe('files of this machine', () => {
  it.each([
    ["import('./' + name + '.js')", 'require("./" + name + ".js")'],
    ["import(`./package${'.json'}`)", 'require('],
    ["require('./pack' + name)", 'require("./pack" + name)'],
    ['require(`../../../../etc/${name}`)', 'require(`../../../../etc/${name}`)'],
    ["require('/etc/' + name)", 'require("/etc/" + name)'],
    ["import('file:///etc/passwd')", 'require("file:///etc/passwd")'],
  ])('%s stays a call in the sandbox: none is looked up or read here', async (expression, call) => {
    const text = `const name = ['age.json', 'passwd'][0]\nexport const processEvent = () => ${expression}`;
    const other = "import './index'\nexport const lib = 1";
    for (const texts of [{ 'index.ts': text }, { 'index.ts': `${text}\nimport './lib'`, 'lib.ts': other }]) {
      const { code, inputs } = await bundle(filesOf(texts), 'index.ts');
      expect(inputs).toEqual(Object.keys(texts));
      expect(code).toContain(call);
      expect(code).not.toContain('dependencies');
    }
  });
});

describe('bundling errors name file and line', () => {
  it.each([
    [{ 'index.ts': 'let a = 1\nlet b = [' }, 'index.ts:2: '],
    [{ 'index.js': 'function {' }, 'index.js:1: '],
    [
      { 'index.ts': "import { a } from './missing'\nexport const processEvent = () => a" },
      'index.ts:1: "./missing" is not in the package',
    ],
    [
      { 'index.ts': "import a from '../../../etc/passwd'\nexport const b = a" },
      '"../../../etc/passwd" is not in the package',
    ],
    [{ 'index.ts': "import a from '/etc/passwd'\nexport const b = a" }, '"/etc/passwd" is not in the package'],
    [{ 'index.ts': "import a from './lib'\nexport const b = a", 'lib.ts': '\n\nlet = = 1' }, 'lib.ts:3: '],
    [
      { 'index.ts': "import a from './a.wasm'\nexport const b = a", 'a.wasm': 'x' },
      'a.wasm: expected JavaScript, TypeScript or JSON',
    ],
    [{ 'index.ts': "import a from './a.json'\nexport const b = a", 'a.json': '{' }, 'a.json: expected JSON'],
    [{ 'index.ts': 'await x\nexport const a = 1' }, 'index.ts:1: '],
    [
      { 'index.ts': "import a from 'own'\nexport const b = a", 'node_modules/own/package.json': '{' },
      'node_modules/own/package.json: expected JSON',
    ],
  ])('%j', async (texts: Readonly<Record<string, string>>, message) => {
    const [entry = ''] = Object.keys(texts);
    await expect(bundle(filesOf(texts), entry)).rejects.toThrow(message);
    await expect(bundle(filesOf(texts), entry)).rejects.toMatchObject({ name: 'PluginPackageError' });
  });
});

describe('a front end', () => {
  it('is a module: getFrontendApp(require) gives what frontend.tsx exports, React comes from that require', async () => {
    const text = [
      "import { useState } from 'react'",
      "import { title } from './title'",
      'function App() { const [n] = useState(3); return <><b id="x">{title}: {n}</b></> }',
      'export const scene = { title, component: App }',
    ].join('\n');
    const files = filesOf({ 'frontend.tsx': text, 'title.ts': 'export const title: string = "Hello"' });
    const built = await buildFrontend(files);
    const url = `data:text/javascript,${encodeURIComponent(built?.module ?? '')}`;
    const { getFrontendApp } = (await import(url)) as {
      getFrontendApp: (require: Call) => { scene: { component: Call } };
    };
    const react = { useState: (n: number) => [n], createElement: (...parts: unknown[]) => parts, Fragment: 'F' };
    const asked: unknown[] = [];
    const { scene } = getFrontendApp((name) => {
      asked.push(name);
      return react;
    });
    expect(scene).toMatchObject({ title: 'Hello' });
    expect(scene.component()).toEqual(['F', null, ['b', { id: 'x' }, 'Hello', ': ', 3]]);
    expect(new Set(asked)).toEqual(new Set(['react']));
  });

  it('is missing without a frontend.tsx', async () => {
    expect(await buildFrontend(filesOf({ 'index.ts': '' }))).toBeUndefined();
  });
});
