import { createHash } from 'node:crypto';
import type { Capabilities } from '../../wire/contract/plugins.ts';
import { SandboxError, type Described, type Sandbox } from '../sandbox/sandbox.ts';
import { bundle, type Bundle } from './bundle.ts';
import { packageMain, readManifest, type Manifest, type TextFiles } from './manifest.ts';
import { cleanPath, textFiles, type PackageFiles } from './package-files.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import { readPackage, type FetchDeps, type PackageSource, type PluginPackage } from './read-package.ts';

export interface PrepareDeps extends FetchDeps {
  readonly sandbox: Pick<Sandbox, 'describe'>;
}

/** A plugin as it may be stored: read, bundled, and loaded once to see what it can do. */
export interface PreparedPlugin {
  readonly name: string;
  readonly manifest: Manifest;
  readonly source: Pick<PluginPackage, 'sourceKind' | 'sourceUrl' | 'identity'>;
  /** As stated by its files, else by where it came from; undefined: nowhere. */
  readonly version: string | undefined;
  /** Source text by path. */
  readonly files: Readonly<Record<string, string>>;
  /** For the sandbox; empty: nothing to run. */
  readonly code: string;
  /** Front-end module; null: none. */
  readonly frontend: string | null;
  /** Of `code`, hex. */
  readonly sha256: string;
  readonly capabilities: Capabilities;
  readonly metrics: Described['metrics'];
}

const nothing: Described = { methods: [], scheduledTasks: [], jobs: [], metrics: {} };

/**
 * Stores nothing; takes seconds where something has to be fetched. `name`: for a plugin whose files state none. Throws
 * PluginPackageError: a sentence for whoever installs it.
 */
export async function preparePlugin(
  deps: PrepareDeps,
  source: PackageSource,
  { name: given }: { readonly name?: string | undefined } = {},
): Promise<PreparedPlugin> {
  const pack = await readPackage(deps, source);
  const texts = textFiles(pack.files);
  const manifest = readManifest(texts);
  const name = manifest.name ?? given ?? nameFrom(pack.identity);
  if (name === undefined) throw new PluginPackageError('plugin.json: expected a "name" for the plugin.');
  const backend = await buildBackend(pack.files, manifest, texts);
  const frontend = await buildFrontend(pack.files);
  const described = await describe(deps.sandbox, { pluginName: name, code: backend.code });
  const { methods, scheduledTasks, jobs, metrics } = described;
  return {
    name,
    manifest,
    source: pack,
    version: manifest.version ?? pack.version,
    files: keptFiles(texts, [...backend.inputs, ...(frontend?.inputs ?? [])]),
    code: backend.code,
    frontend: frontend?.module ?? null,
    sha256: createHash('sha256').update(backend.code).digest('hex'),
    capabilities: { methods: [...methods], scheduled_tasks: [...scheduledTasks], jobs: [...jobs] },
    metrics,
  };
}

/** Last part of a repository's, folder's or package's name. */
function nameFrom(identity: string | null): string | undefined {
  return (
    identity
      ?.split(/[/:]/)
      .at(-1)
      ?.replace(/\.(zip|tgz|tar\.gz)$/, '') || undefined
  );
}

async function buildBackend(files: PackageFiles, manifest: Manifest, texts: TextFiles): Promise<Bundle> {
  const entry = entryOf(files, manifest.main) ?? entryOf(files, packageMain(texts));
  if (entry !== undefined) return bundle(files, entry);
  // Both are front end only: no error, there is just nothing to run here.
  if (files.has(frontendFile) || files.has('site.ts')) return { code: '', inputs: [] };
  const there = [...files.keys()].slice(0, 10).join(', ');
  const main = manifest.main === undefined ? '' : ` plugin.json names "${manifest.main}", which is not in the package.`;
  throw new PluginPackageError(
    `Expected an entry file: index.ts, index.js or "main" of plugin.json.${main} There are: ${there}.`,
  );
}

function entryOf(files: PackageFiles, main: string | undefined): string | undefined {
  const stated = main === undefined ? undefined : cleanPath(main);
  const candidates = stated === undefined ? [] : [stated, `${stated}.ts`, `${stated}.js`, `${stated}/index.js`];
  return [...candidates, 'index.ts', 'index.js'].find((path) => files.has(path));
}

async function describe(
  sandbox: Pick<Sandbox, 'describe'>,
  program: { readonly pluginName: string; readonly code: string },
): Promise<Described> {
  if (program.code === '') return nothing;
  try {
    return await sandbox.describe(program).catch((error: unknown) => {
      // Another plugin may have ended the process: this one is tried again, alone.
      if (error instanceof SandboxError && error.kind === 'crashed') return sandbox.describe(program);
      throw error;
    });
  } catch (cause) {
    // The service is stopping: nothing is wrong with the plugin.
    if (!(cause instanceof SandboxError) || cause.kind === 'aborted') throw cause;
    throw new PluginPackageError(`The plugin cannot be loaded: ${cause.message}`, { cause });
  }
}

const frontendFile = 'frontend.tsx';

/**
 * The front end of a plugin as a JavaScript module: `getFrontendApp(require)` returns what frontend.tsx exports; React and
 * the other packages that it imports come from that `require`. Undefined: it has none. Throws PluginPackageError.
 */
export async function buildFrontend(
  files: PackageFiles,
): Promise<{ readonly module: string; readonly inputs: readonly string[] } | undefined> {
  if (!files.has(frontendFile)) return undefined;
  const { code, inputs } = await bundle(files, frontendFile);
  // JSX needs React whether or not the file names it.
  const react = /\bReact\.(createElement|Fragment)\b/.test(code) ? 'const React = require("react");\n' : '';
  const module = `export function getFrontendApp(require) {
${react}const exports = {};
const module = { exports };
(function (exports, module, require) {
${code}
})(exports, module, require);
return module.exports;
}
`;
  return { module, inputs };
}

const fileLengthMax = 1_000_000;
const allLengthMax = 4_000_000;
/** Read again later, so they are always kept. */
const manifests = ['plugin.json', 'package.json'];
const clutter = /(^|\/)(node_modules|\.[^/]+)\/|(^|\/)(\.[^/]+|package-lock\.json|yarn\.lock|pnpm-lock\.yaml)$/;

/**
 * The source text that is kept with a version, to be shown and edited: what says what the plugin is, then what it was made
 * of (`inputs`), then the rest as far as it is small. Sorted by path.
 */
function keptFiles(texts: TextFiles, inputs: readonly string[]): Record<string, string> {
  const others = [...texts.keys()].filter((path) => !clutter.test(path)).sort((a, b) => lengthOf(a) - lengthOf(b));
  const kept = new Map<string, string>();
  let charsLeft = allLengthMax;
  function lengthOf(path: string): number {
    return texts.get(path)?.length ?? 0;
  }
  for (const path of new Set([...manifests, ...inputs, ...others])) {
    const text = texts.get(path);
    const always = manifests.includes(path);
    if (text === undefined || (!always && (text.length > fileLengthMax || text.length > charsLeft))) continue;
    charsLeft -= text.length;
    kept.set(path, text);
  }
  return Object.fromEntries([...kept].sort(([a], [b]) => (a < b ? -1 : 1)));
}
