import { basename } from 'node:path';
import type { Loader, Message } from 'esbuild';
import { assert } from '../../base/assert.ts';
import { mapOfLines, type FileMap } from '../../base/inline-source-map.ts';
import { PluginPackageError } from '../plugin-package-error.ts';

/** A virtual file that is never written. */
const compiledFile = 'compiled.js';

/** A source file as a CommonJS module; imports keep their specifiers. */
export interface CompiledFile {
  readonly code: string;
  /** Maps `code` to the file; `undefined` if the code is on one line. */
  readonly map: FileMap | undefined;
  /** Whether its exports are those of an ES module. */
  readonly isModule: boolean;
  /** The packages and paths that it requires, each once. */
  readonly imports: readonly string[];
  /** The original text. */
  readonly text: string;
}

/**
 * Translates one file separately: TypeScript and JSX become JavaScript, imports become `require`, type imports vanish. Nothing
 * is looked up in the package or on this machine: esbuild's own bundling would read files that a computed import might mean.
 * A script that needs no translation stays unchanged. Throws PluginPackageError: a sentence with file:line.
 */
export async function compile(path: string, text: string): Promise<CompiledFile> {
  if (path.endsWith('.json')) return { ...compileJson(path, text), text };
  const loader = await chooseLoader(path, text);
  const { code, map, isModule, imports } = await translate(path, text, loader);
  const stays = !isModule && /\.[cm]?js$/.test(path) && (await parsesAs('js', path, text));
  if (stays) return { code: text, map: mapOfLines(path, text), isModule, imports, text };
  return { code: withCallableNamespaces(code), map, isModule, imports, text };
}

async function translate(path: string, text: string, loader: Loader): Promise<Omit<CompiledFile, 'text'>> {
  // Loaded for installations only, so that the program starts faster.
  const { build } = await import('esbuild');
  try {
    const { outputFiles, metafile } = await build({
      stdin: { contents: text, loader, sourcefile: path },
      bundle: false,
      write: false,
      metafile: true,
      outfile: compiledFile,
      sourcemap: 'external',
      sourcesContent: false,
      format: 'cjs',
      target: 'esnext',
      supported: { 'dynamic-import': false },
      tsconfigRaw: '{}',
      charset: 'utf8',
      logLevel: 'silent',
    });
    const output = metafile.outputs[compiledFile];
    const [input] = Object.values(metafile.inputs);
    const imports = (output?.imports ?? []).filter(({ kind }) => kind !== 'require-resolve');
    return {
      code: textOf(outputFiles, compiledFile),
      map: { ...(JSON.parse(textOf(outputFiles, `${compiledFile}.map`)) as FileMap), sources: [path] },
      isModule: input?.format === 'esm',
      imports: [...new Set(imports.map((each) => each.path))],
    };
  } catch (error) {
    throw buildError(error, path);
  }
}

function textOf(files: readonly { readonly path: string; readonly text: string }[], name: string): string {
  const file = files.find(({ path }) => basename(path) === name);
  assert(file !== undefined, `${name} among the compiled files`);
  return file.text;
}

function compileJson(path: string, text: string): Omit<CompiledFile, 'text'> {
  try {
    JSON.parse(text);
  } catch (cause) {
    throw new PluginPackageError(`${path}: expected JSON: ${(cause as Error).message}`, { cause });
  }
  return {
    code: `module.exports = JSON.parse(${JSON.stringify(text)});`,
    map: undefined,
    isModule: false,
    imports: [],
  };
}

const namespaceHelper = 'var __toESM = (mod, isNodeMode, target) => (';
const callableNamespaces =
  'var __toESM = (mod, isNodeMode, target) => typeof mod === "function" ? new Proxy(mod, { get: (of, key) => ' +
  'key === "default" && !of.__esModule ? of : Reflect.get(of, key) }) : (';

/** `import * as fetch from 'node-fetch'` gives the module itself: published plugins call it. */
function withCallableNamespaces(code: string): string {
  return code.replace(namespaceHelper, callableNamespaces);
}

/** A longer file is not treated as source. */
const sourceLengthMax = 20_000_000;
const shownErrors = 3;

/**
 * Chooses how to parse a file. Published plugins contain TypeScript in .js files, and unused imports in modules are types
 * there: modules are parsed as TypeScript first, plain scripts as JavaScript. Throws PluginPackageError: a sentence with file:line.
 */
async function chooseLoader(path: string, text: string): Promise<Loader> {
  if (text.length > sourceLengthMax) {
    throw new PluginPackageError(`${path}: expected at most ${sourceLengthMax} characters, got ${text.length}`);
  }
  const [first, ...others] = loadersOf(path, text);
  if (first === undefined) throw new PluginPackageError(`${path}: expected JavaScript, TypeScript or JSON`);
  if (others.length === 0) return first;
  for (const loader of [first, ...others]) if (await parsesAs(loader, path, text)) return loader;
  // The build that follows reports the error.
  return first;
}

/** Whether a line begins with an import or export. */
function isModule(text: string): boolean {
  return /^[ \t]*(import|export)\b/m.test(text);
}

async function parsesAs(loader: Loader, path: string, text: string): Promise<boolean> {
  // Loaded for installations only, so that the program starts faster.
  const { transform } = await import('esbuild');
  try {
    await transform(text, { loader, sourcefile: path, logLevel: 'silent' });
    return true;
  } catch (error) {
    if (buildError(error, path) instanceof PluginPackageError) return false;
    throw error;
  }
}

function loadersOf(path: string, text: string): readonly Loader[] {
  switch (/\.([cm]?[jt]sx?|json)$/.exec(path)?.[1]) {
    case 'json':
      return ['json'];
    case 'tsx':
    case 'jsx':
      return ['tsx'];
    case 'ts':
    case 'mts':
    case 'cts':
      return ['ts'];
    case undefined:
      return [];
    default:
      return isModule(text) ? ['ts', 'tsx', 'jsx'] : ['js', 'jsx', 'ts'];
  }
}

/** Converts a build failure to one sentence with file and line. Other errors pass unchanged. */
function buildError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || !('errors' in error) || !Array.isArray(error.errors)) return error;
  const errors = error.errors as readonly Message[];
  const sentences = errors.slice(0, shownErrors).map(({ text, location }) => {
    const where = location === null ? path : `${location.file}:${location.line}`;
    return `${where}: ${text}`;
  });
  const more = errors.length > shownErrors ? ` (and ${errors.length - shownErrors} more)` : '';
  return new PluginPackageError(`${sentences.join('; ')}${more}`, { cause: error });
}
