import type { PluginSourceKind } from '../../wire/contract/plugins.ts';
import { OutboundError, type OutboundFetch } from '../outbound/outbound.ts';
import { download, NotThereError, unreachable } from './download.ts';
import { fetchNpmPackage } from './npm-package.ts';
import { cleanPath, collectFiles, type PackageFiles } from './package-files.ts';
import { identityOf, parseAddress, parseNpmName, shownAddress, type GitArchive } from '../plugin-address.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import { readArchive } from './read-archive.ts';

/** How a person gives a plugin. */
export type PackageSource =
  | { readonly kind: 'files'; readonly files: Readonly<Record<string, string>> }
  | { readonly kind: 'archive'; readonly bytes: Uint8Array }
  /** `npm`: `NAME` or `NAME@VERSION`; `version`: version, range or tag. */
  | { readonly kind: 'npm'; readonly npm: string; readonly version?: string | undefined }
  | { readonly kind: 'url'; readonly url: string };

export interface PluginPackage {
  readonly files: PackageFiles;
  readonly sourceKind: PluginSourceKind;
  /** Where it came from, as it may be shown; null: sent with the request. */
  readonly sourceUrl: string | null;
  /** The same for every version of the same plugin; null: only its name tells. */
  readonly identity: string | null;
  /** Version by where it came from, e.g. a tag; undefined: that says nothing. */
  readonly version: string | undefined;
}

export interface FetchDeps {
  readonly fetch: OutboundFetch;
  /** Address of the npm registry; empty: the one that npm is configured with. */
  readonly npmRegistry: string;
}

/** The files of a plugin, wherever it is. Throws PluginPackageError. */
export async function readPackage(deps: FetchDeps, source: PackageSource): Promise<PluginPackage> {
  switch (source.kind) {
    case 'files':
      return { files: typedFiles(source.files), ...sent('source') };
    case 'archive':
      return { files: await readArchive(source.bytes, 'archive'), ...sent('archive') };
    case 'npm': {
      const { name, version } = parseNpmName(source.npm);
      return readNpm(deps, name, source.version ?? version);
    }
    case 'url':
      return readUrl(deps, source.url);
  }
}

function sent(sourceKind: PluginSourceKind) {
  return { sourceKind, sourceUrl: null, identity: null, version: undefined };
}

function typedFiles(given: Readonly<Record<string, string>>): PackageFiles {
  const collector = collectFiles('files');
  for (const [name, text] of Object.entries(given)) {
    const path = cleanPath(name);
    if (path === undefined) {
      const message = `files: expected paths below the plugin, such as index.ts or lib/rates.json, got: ${JSON.stringify(name.slice(0, 200))}`;
      throw new PluginPackageError(message, { attr: 'files' });
    }
    collector.add(path, Buffer.from(text, 'utf8'));
  }
  const files = collector.files();
  if (files.size === 0)
    throw new PluginPackageError('files: expected at least index.ts or index.js.', { attr: 'files' });
  return files;
}

async function readNpm(deps: FetchDeps, name: string, wanted: string | undefined): Promise<PluginPackage> {
  const { version, bytes } = await answered('npm', () => fetchNpmPackage(deps, { name, version: wanted }));
  return {
    files: await readArchive(bytes, 'npm'),
    sourceKind: 'npm',
    sourceUrl: `npm:${name}@${version}`,
    identity: `npm:${name}`,
    version,
  };
}

async function readUrl(deps: FetchDeps, text: string): Promise<PluginPackage> {
  const address = parseAddress(text);
  if (address.kind === 'npm') return readNpm(deps, address.name, address.version);
  const about = { sourceUrl: shownAddress(text), identity: identityOf(address) };
  if (address.kind === 'archive') {
    const bytes = await answered('url', () => download(deps.fetch, address.url, 'url'));
    return { files: await readArchive(bytes, 'url'), sourceKind: 'archive', ...about, version: undefined };
  }
  const { files, tag } = await answered('url', () => firstThere(deps.fetch, address.archives));
  return { files, sourceKind: 'git', ...about, version: tag };
}

async function firstThere(
  fetch: OutboundFetch,
  archives: readonly GitArchive[],
): Promise<{ readonly files: PackageFiles; readonly tag: string | undefined }> {
  const tried: string[] = [];
  for (const { url, folder, tag } of archives) {
    try {
      const bytes = await download(fetch, url, 'url');
      return { files: folder === undefined ? await readArchive(bytes, 'url') : await readFolder(bytes, folder), tag };
    } catch (error) {
      if (!(error instanceof NotThereError)) throw error;
      tried.push(error.message);
    }
  }
  const message = `${tried.join(' ')} Expected a public repository, and a branch, tag or commit of it.`;
  throw new PluginPackageError(message, { attr: 'url' });
}

/** A folder of a repository; what lies beside it is not even unpacked. */
async function readFolder(bytes: Uint8Array, folder: string): Promise<PackageFiles> {
  const start = `${folder.replace(/\/+$/, '')}/`;
  const below = (path: string): string => path.slice(path.indexOf('/') + 1);
  const files = await readArchive(bytes, 'url', (path) => below(path).startsWith(start));
  if (files.size === 0) throw new NotThereError(`The repository has no folder "${folder}".`, { attr: 'url' });
  return new Map([...files].map(([path, content]) => [path.slice(start.length), content]));
}

async function answered<T>(attr: 'url' | 'npm', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OutboundError) throw unreachable(error, attr);
    throw error;
  }
}
