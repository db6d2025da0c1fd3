import type { Metafile, Plugin } from 'esbuild';
import { textOf, type PackageFiles } from './package-files.ts';
import { PluginPackageError } from './plugin-error.ts';
import { resolveModule } from './resolve-module.ts';
import { buildError, chooseLoader, isModule, parsesAs, type SourceText } from './source-text.ts';

/** One script for the sandbox, and the files that it is made of, the entry first. */
export interface Bundle {
  readonly code: string;
  readonly inputs: readonly string[];
}

const codeLengthMax = 20_000_000;
const namespace = 'plugin';
/** What files count as settled: the options of every build here, whatever folder the program runs in. */
const settled = { logLevel: 'silent', target: 'esnext', tsconfigRaw: '{}', charset: 'utf8' } as const;

/**
 * A module's exports go to `exports` too, where they are looked up first, `exports.default` next.
 */
const exportsFooter =
  'if (module.exports !== exports) Object.defineProperties(exports, Object.getOwnPropertyDescriptors(module.exports));';

/** Names under which a script's functions are looked up when it exports nothing. */
const hooks = `setupPlugin teardownPlugin processEvent processEventBatch onEvent onSnapshot onAction exportEvents
  composeWebhook getSettings runEveryMinute runEveryHour runEveryDay jobs metrics`.split(/\s+/);

/**
 * Makes one script of a plugin's entry and what it imports from the package. Imports of other packages stay calls of
 * `require`. A script of a single file that needs no translation stays as it is, byte for byte; none gains a strict mode
 * that it had not. Throws PluginPackageError: a sentence with file:line.
 */
export async function bundle(files: PackageFiles, entry: string): Promise<Bundle> {
  const sources = createSources(files);
  const source = await sources(entry);
  const { code, inputs, format } = await buildAll(files, entry, sources);
  const others = inputs.filter((input) => input !== entry);
  const script = others.length > 0 ? withCallableNamespaces(code) : await translateAlone(entry, source, format);
  if (script.length > codeLengthMax) {
    throw new PluginPackageError(
      `${entry}: expected at most ${codeLengthMax} characters of code, got ${script.length}`,
    );
  }
  return { code: script, inputs: [entry, ...others] };
}

type Sources = (path: string) => Promise<SourceText>;

function createSources(files: PackageFiles): Sources {
  const known = new Map<string, Promise<SourceText>>();
  const read = async (path: string): Promise<SourceText> => {
    const content = files.get(path);
    if (content === undefined) throw new PluginPackageError(`${path}: expected this file in the package`);
    const text = textOf(content)?.replace(/^\ufeff/, '');
    if (text === undefined) throw new PluginPackageError(`${path}: expected text in UTF-8`);
    return chooseLoader(path, text);
  };
  return (path) => {
    const source = known.get(path) ?? read(path);
    known.set(path, source);
    return source;
  };
}

type Format = 'esm' | 'cjs' | undefined;

async function buildAll(
  files: PackageFiles,
  entry: string,
  sources: Sources,
): Promise<{ readonly code: string; readonly inputs: readonly string[]; readonly format: Format }> {
  try {
    const { build } = await import('esbuild');
    const { outputFiles, metafile } = await build({
      ...settled,
      entryPoints: [entry],
      bundle: true,
      write: false,
      metafile: true,
      format: 'cjs',
      platform: 'neutral',
      treeShaking: false,
      plugins: [packagePlugin(files, entry, sources)],
    });
    const paths = Object.keys(metafile.inputs).map((path) => path.slice(namespace.length + 1));
    const format = formatOf(metafile, entry);
    const footer = format === 'esm' ? `${exportsFooter}\n` : '';
    return { code: (outputFiles[0]?.text ?? '') + footer, inputs: paths, format };
  } catch (error) {
    throw buildError(error, entry);
  }
}

function formatOf(metafile: Metafile, entry: string): Format {
  return metafile.inputs[`${namespace}:${entry}`]?.format;
}

/** Resolves within the package, reads from memory: nothing of this machine can get into a bundle. */
function packagePlugin(files: PackageFiles, entry: string, sources: Sources): Plugin {
  return {
    name: 'plugin-package',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /.*/ }, ({ path, importer, kind }) => {
        if (kind === 'entry-point') return { path: entry, namespace };
        const module = resolveModule(files, importer, path);
        if (module === 'external') return { path, external: true };
        if (module !== undefined) return { path: module.file, namespace };
        return { errors: [{ text: `"${path}" is not in the package` }] };
      });
      onLoad({ filter: /.*/, namespace }, async ({ path }) => {
        const { text, loader } = await sources(path);
        if (path !== entry || isModule(text) || !(await parsesAs(loader, path, text)))
          return { contents: text, loader };
        return { contents: text + hooksAsExports, loader };
      });
    },
  };
}

/** A script becomes a module when it is bundled: its functions would be out of reach where it exports nothing. */
const hooksAsExports = `
if (typeof module !== 'undefined' && Object.keys(module.exports).length === 0) {
${hooks.map((name) => `if (typeof ${name} !== 'undefined') module.exports.${name} = ${name};`).join('\n')}
}
`;

/** The entry is all there is: the functions at its top keep their names and their place. */
async function translateAlone(entry: string, { text, loader }: SourceText, format: Format): Promise<string> {
  if (format !== 'esm' && /\.[cm]?js$/.test(entry) && (await parsesAs('js', entry, text))) return text;
  try {
    const { transform } = await import('esbuild');
    // A file may import and still assign `module.exports`: what is no module keeps its own exports.
    const footer = format === 'esm' ? { footer: exportsFooter } : {};
    const { code } = await transform(text, { ...settled, loader, sourcefile: entry, format: 'cjs', ...footer });
    return withCallableNamespaces(code);
  } catch (error) {
    throw buildError(error, entry);
  }
}

const namespaceHelper = 'var __toESM = (mod, isNodeMode, target) => (';
const callableNamespaces =
  'var __toESM = (mod, isNodeMode, target) => typeof mod === "function" ? new Proxy(mod, { get: (of, key) => ' +
  'key === "default" && !of.__esModule ? of : Reflect.get(of, key) }) : (';

/** `import * as fetch from 'node-fetch'` gives the module itself: published plugins call it. */
function withCallableNamespaces(code: string): string {
  return code.replace(namespaceHelper, callableNamespaces);
}
