import { createHash, timingSafeEqual } from 'node:crypto';
import type { OutboundFetch } from '../outbound/outbound.ts';
import { isObject, type JsonObject, type JsonValue } from '../../base/json.ts';
import { download, downloadTimeoutMs } from './download.ts';
import { registryOfNpm } from './npm-registry.ts';
import { PluginPackageError } from '../plugin-package-error.ts';

export interface NpmTarball {
  /** The version that was found. */
  readonly version: string;
  readonly bytes: Uint8Array;
}

/** Strongest first. */
const hashes = ['sha512', 'sha384', 'sha256', 'sha1'] as const;

/**
 * Fetches a package of the registry and checks that its bytes are those that the registry promised. `npmRegistry`: its address;
 * empty: the one npm is configured with. `wanted`: version, range or tag; undefined: the tag `latest`. Throws PluginPackageError.
 */
export async function fetchNpmPackage(
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
    throw faulty(`the registry answered for "${name}" with something that is no JSON`, cause);
  }
  throw faulty(`the registry answered for "${name}" with something that is no object`);
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

/** A mirror repeats the addresses of the registry it copies; what is configured is where packages are fetched. */
function atRegistry(tarball: string, registry: string, name: string): string {
  const url = new URL(tarball);
  if (url.origin === new URL(registry).origin || !url.pathname.startsWith(`/${name}/-/`)) return url.href;
  return registry + url.pathname;
}

interface ExpectedHash {
  readonly algorithm: (typeof hashes)[number];
  readonly digest: Buffer;
}

/** The strongest ones that the registry gives; one of them must fit. */
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
    `the tarball of ${what} is not what the registry promised (${expected[0]?.algorithm} differs); try again later`,
  );
}

function faulty(problem: string, cause?: unknown, attr: 'npm' | 'version' = 'npm'): PluginPackageError {
  return new PluginPackageError(`npm: ${problem}.`, { attr, cause });
}
