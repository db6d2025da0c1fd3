import type { PluginSourceKind } from '../../wire/contract/plugins.ts';
import { OutboundError, type OutboundFetch } from '../outbound/outbound.ts';
import { cleanPath, collectFiles, type PackageFiles } from './package-files.ts';
import { identityOf, parseAddress, parseNpmName, shownAddress, type GitArchive } from '../plugin-address.ts';
import { PluginPackageError } from '../plugin-package-error.ts';
import { readArchive, type ArchiveAttr } from './read-archive.ts';
import { createHash, timingSafeEqual } from 'node:crypto';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The source of a plugin. */
export type PackageSource =
  | { readonly kind: 'files'; readonly files: Readonly<Record<string, string>> }
  | { readonly kind: 'archive'; readonly bytes: Uint8Array }
  /** `npm`: `NAME` or `NAME@VERSION`; `version`: version, range or tag. */
  | { readonly kind: 'npm'; readonly npm: string; readonly version?: string | undefined }
  | { readonly kind: 'url'; readonly url: string };

export interface PluginPackage {
  readonly files: PackageFiles;
  readonly sourceKind: PluginSourceKind;
  /** The source as it may be shown; null if it was uploaded. */
  readonly sourceUrl: string | null;
  /** The same for every version of the same plugin; null if only its name identifies it. */
  readonly identity: string | null;
  /** Version stated by the source, e.g. a tag; `undefined` if it states none. */
  readonly version: string | undefined;
}

export interface FetchDeps {
  readonly fetch: OutboundFetch;
  /** Address of the npm registry; empty means npm's configured one. */
  readonly npmRegistry: string;
}

/** Reads the files of a plugin from any source. Throws PluginPackageError. */
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

/** Reads one folder of a repository; files outside it are not unpacked. */
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

interface NpmTarball {
  /** The resolved version. */
  readonly version: string;
  readonly bytes: Uint8Array;
}

/** Strongest first. */
const hashes = ['sha512', 'sha384', 'sha256', 'sha1'] as const;

/**
 * Fetches a package of the registry and verifies its bytes against the registry's hashes. `npmRegistry` is its address; empty
 * means npm's configured one. `wanted` is a version, range or tag; `undefined` means the tag `latest`. Throws PluginPackageError.
 */
async function fetchNpmPackage(
  { fetch, npmRegistry }: { readonly fetch: OutboundFetch; readonly npmRegistry: string },
  { name, version: wanted }: { readonly name: string; readonly version?: string | undefined },
): Promise<NpmTarball> {
  const registry = (npmRegistry === '' ? await registryOfNpm() : npmRegistry).replace(/\/+$/, '');
  const document = await fetchDocument(fetch, registry, name);
  const { version, release } = await chooseVersion(document, name, wanted);
  const { tarball, integrity, shasum } = isObject(release['dist']) ? release['dist'] : {};
  if (typeof tarball !== 'string' || !URL.canParse(tarball)) {
    throw faulty(`the registry names no tarball for ${name}@${version}`);
  }
  const bytes = await download(fetch, atRegistry(tarball, registry, name), 'npm');
  checkIntegrity(bytes, expectedHashes(integrity, shasum), `${name}@${version}`);
  return { version, bytes };
}

async function fetchDocument(fetch: OutboundFetch, registry: string, name: string): Promise<JsonObject> {
  const url = `${registry}/${name.replace('/', '%2f')}`;
  const headers = { accept: 'application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8' };
  const answer = await fetch({ url, headers, timeoutMs: downloadTimeoutMs });
  if (answer.status === 404) throw faulty(`the registry has no package "${name}"`);
  if (answer.status !== 200) throw faulty(`the registry answered ${answer.status} for "${name}"`);
  try {
    const document = JSON.parse(Buffer.from(answer.body).toString('utf8')) as JsonValue;
    if (isObject(document)) return document;
  } catch (cause) {
    throw faulty(`the registry answered for "${name}" with invalid JSON`, cause);
  }
  throw faulty(`the registry answered for "${name}" with JSON that is not an object`);
}

async function chooseVersion(
  document: JsonObject,
  name: string,
  wanted = 'latest',
): Promise<{ readonly version: string; readonly release: JsonObject }> {
  const versions = isObject(document['versions']) ? document['versions'] : {};
  const tags = isObject(document['dist-tags']) ? document['dist-tags'] : {};
  const tagged = Object.hasOwn(tags, wanted) ? tags[wanted] : undefined;
  const version = typeof tagged === 'string' ? tagged : await bestMatch(Object.keys(versions), wanted);
  const release = version !== undefined && Object.hasOwn(versions, version) ? versions[version] : undefined;
  if (version !== undefined && isObject(release)) return { version, release };
  const newest = Object.keys(versions).slice(-10).join(', ');
  const there = [...Object.keys(tags), ...(newest === '' ? [] : [newest])].join(', ');
  throw faulty(
    `"${name}" has no version "${wanted.slice(0, 100)}"; there are: ${there || 'none'}`,
    undefined,
    'version',
  );
}

async function bestMatch(versions: readonly string[], wanted: string): Promise<string | undefined> {
  if (versions.includes(wanted)) return wanted;
  const { default: semver } = await import('semver');
  return semver.maxSatisfying(versions, wanted) ?? undefined;
}

/** A mirror repeats the addresses of the registry it copies; packages are fetched from the configured one. */
function atRegistry(tarball: string, registry: string, name: string): string {
  const url = new URL(tarball);
  if (url.origin === new URL(registry).origin || !url.pathname.startsWith(`/${name}/-/`)) return url.href;
  return registry + url.pathname;
}

interface ExpectedHash {
  readonly algorithm: (typeof hashes)[number];
  readonly digest: Buffer;
}

/** Returns the strongest hashes that the registry gives; one of them must match. */
function expectedHashes(integrity: JsonValue | undefined, shasum: JsonValue | undefined): ExpectedHash[] {
  const given = (typeof integrity === 'string' ? integrity : '').split(/\s+/).map((text) => {
    const [algorithm = '', digest = ''] = text.split(/-(.*)/s);
    return { algorithm, digest: Buffer.from(digest.split('?')[0] ?? '', 'base64') };
  });
  if (typeof shasum === 'string') given.push({ algorithm: 'sha1', digest: Buffer.from(shasum, 'hex') });
  for (const algorithm of hashes) {
    const found = given.filter((each) => each.algorithm === algorithm);
    if (found.length > 0) return found.map(({ digest }) => ({ algorithm, digest }));
  }
  return [];
}

function checkIntegrity(bytes: Uint8Array, expected: readonly ExpectedHash[], what: string): void {
  if (expected.length === 0) throw faulty(`the registry gives no checksum for ${what}`);
  const fits = expected.some(({ algorithm, digest }) => {
    const actual = createHash(algorithm).update(bytes).digest();
    return actual.byteLength === digest.byteLength && timingSafeEqual(actual, digest);
  });
  if (fits) return;
  throw faulty(
    `the tarball of ${what} does not match the registry's checksum (${expected[0]?.algorithm} differs); retry later`,
  );
}

function faulty(problem: string, cause?: unknown, attr: 'npm' | 'version' = 'npm'): PluginPackageError {
  return new PluginPackageError(`npm: ${problem}.`, { attr, cause });
}

const run = promisify(execFile);
const npmTimeoutMs = 20_000;

/**
 * Returns the registry that npm is configured with on this machine, for this process (its .npmrc files and environment).
 * Throws PluginPackageError if npm cannot report one.
 */
export async function registryOfNpm(): Promise<string> {
  const found = await askNpm();
  if (URL.canParse(found)) return found;
  throw unknown(`npm names "${found}" as its registry, which is not a URL`);
}

async function askNpm(): Promise<string> {
  try {
    const { stdout } = await run('npm', ['config', 'get', 'registry'], { timeout: npmTimeoutMs });
    return stdout.trim();
  } catch (cause) {
    throw unknown('npm cannot be run here to find its registry', cause);
  }
}

function unknown(what: string, cause?: unknown): PluginPackageError {
  const message = `npm: ${what}. Set MILLRACE_NPM_REGISTRY to the address of a registry.`;
  return new PluginPackageError(message, { attr: 'npm', cause });
}

/** Upper limit; the service's own timeout applies too. */
const downloadTimeoutMs = 60_000;

/** The server responded that the address does not exist. */
class NotThereError extends PluginPackageError {
  override name = 'NotThereError';
}

/** Downloads an address. Throws NotThereError, PluginPackageError, OutboundError. */
async function download(fetch: OutboundFetch, url: string, attr: ArchiveAttr): Promise<Uint8Array> {
  const answer = await fetch({ url, timeoutMs: downloadTimeoutMs });
  if (answer.status === 200) return answer.body;
  const { origin, pathname } = new URL(url);
  if (answer.status === 404) throw new NotThereError(`Nothing is at ${origin}${pathname} (404).`, { attr });
  throw new PluginPackageError(`Expected an archive at ${origin}${pathname}, got status ${answer.status}.`, { attr });
}

/** Describes a failed request for the user who gave the address. */
function unreachable(error: OutboundError, attr: ArchiveAttr): PluginPackageError {
  const hint = error.retry ? ' Retry later.' : '';
  return new PluginPackageError(`${attr}: the package could not be fetched: ${error.message}.${hint}`, {
    attr,
    cause: error,
  });
}
