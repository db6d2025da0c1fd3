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

/** A plugin ready to be stored: read, bundled, and loaded once to detect its capabilities. */
export interface PreparedPlugin {
  readonly name: string;
  readonly manifest: Manifest;
  readonly source: Pick<PluginPackage, 'sourceKind' | 'sourceUrl' | 'identity'>;
  /** As stated by its files, otherwise by its source; `undefined` if neither states one. */
  readonly version: string | undefined;
  /** Source text by path. */
  readonly files: Readonly<Record<string, string>>;
  /** For the sandbox; empty if there is nothing to run. */
  readonly code: string;
  /** Front-end module, or null. */
  readonly frontend: string | null;
  /** Of `code`, hex. */
  readonly sha256: string;
  readonly capabilities: Capabilities;
  readonly metrics: Described['metrics'];
}

const nothing: Described = { methods: [], scheduledTasks: [], jobs: [], metrics: {} };

/**
 * Prepares a plugin without storing anything; takes seconds if it must be fetched. `name` is used for a plugin whose files
 * state none. Throws PluginPackageError: a sentence for the user who installs it.
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

/** Returns the last part of a repository's, folder's or package's name. */
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
  // A package with only a front end is valid; there is nothing to run here.
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
      // Another plugin may have crashed the process: this one is retried alone.
      if (error instanceof SandboxError && error.kind === 'crashed') return sandbox.describe(program);
      throw error;
    });
  } catch (cause) {
    // The service is stopping; the plugin is not at fault.
    if (!(cause instanceof SandboxError) || cause.kind === 'aborted') throw cause;
    throw new PluginPackageError(`The plugin cannot be loaded: ${cause.message}`, { cause });
  }
}

const frontendFile = 'frontend.tsx';

/**
 * Builds a plugin's front end as a JavaScript module: `getFrontendApp(require)` returns the exports of frontend.tsx; React and
 * its other imports come from that `require`. Returns `undefined` if it has none. Throws PluginPackageError.
 */
export async function buildFrontend(
  files: PackageFiles,
): Promise<{ readonly module: string; readonly inputs: readonly string[] } | undefined> {
  if (!files.has(frontendFile)) return undefined;
  const { code, inputs } = await bundle(files, frontendFile);
  // JSX needs React whether the file imports it or not.
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
/** Always kept because they are read again later. */
const manifests = ['plugin.json', 'package.json'];
const clutter = /(^|\/)(node_modules|\.[^/]+)\/|(^|\/)(\.[^/]+|package-lock\.json|yarn\.lock|pnpm-lock\.yaml)$/;

/**
 * Selects the source text stored with a version, to be shown and edited: the manifests, then the build `inputs`, then other
 * files while they are small. Sorted by path.
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
