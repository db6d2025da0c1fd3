import { PluginPackageError } from './plugin-package-error.ts';

/** The target of an address. */
type PluginAddress =
  | { readonly kind: 'npm'; readonly name: string; readonly version: string | undefined }
  | {
      readonly kind: 'git';
      /** The repository, and the folder in it unless the root: the same for every version. */
      readonly identity: string;
      /** Candidates, tried in this order until one exists. */
      readonly archives: readonly GitArchive[];
    }
  | { readonly kind: 'archive'; readonly url: string };

export interface GitArchive {
  readonly url: string;
  /** `undefined` means the repository's root. */
  readonly folder: string | undefined;
  /** The version, if the address names a tag. */
  readonly tag: string | undefined;
}

const examples = 'Examples: https://github.com/OWNER/REPOSITORY, …/tree/BRANCH, …/releases/tag/TAG, or an archive.';

const nameForm = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*$/;

/** Parses `NAME`, `NAME@VERSION`, `@SCOPE/NAME@TAG`. Throws PluginPackageError. */
export function parseNpmName(text: string): { readonly name: string; readonly version: string | undefined } {
  const given = text.trim().replace(/^npm:/, '');
  const at = given.indexOf('@', 1);
  const name = at === -1 ? given : given.slice(0, at);
  const version = at === -1 ? undefined : given.slice(at + 1);
  if (nameForm.test(name) && name.length <= 214 && version !== '') return { name, version };
  const message = `npm: expected a package such as @posthog/geoip-plugin or NAME@VERSION, got: ${JSON.stringify(given.slice(0, 200))}`;
  throw new PluginPackageError(message, { attr: 'npm' });
}

/** Parses an address entered by a user. Throws PluginPackageError. */
export function parseAddress(text: string): PluginAddress {
  const given = text.trim();
  if (!URL.canParse(given)) throw refused(`expected an http(s) address, got: ${JSON.stringify(given.slice(0, 200))}`);
  const url = new URL(given);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refused(`expected http or https, got ${url.protocol}`);
  if (url.username !== '' || url.password !== '') {
    throw refused(
      'expected an address without user name and password: it would be visible to all users who can read plugins',
    );
  }
  const host = url.hostname.replace(/^www\./, '');
  if (host === 'github.com') return githubAddress(url);
  if (host === 'gitlab.com') return gitlabAddress(url);
  if (host === 'npmjs.com') return npmAddress(url);
  return { kind: 'archive', url: url.href };
}

/** Returns the address as stored and shown: without parts that may be secret. */
export function shownAddress(text: string): string {
  const url = new URL(text.trim());
  url.search = '';
  url.hash = '';
  return url.href.replace(/\/+$/, '');
}

/** Returns what two addresses of the same plugin share, whatever their version. */
export function identityOf(address: PluginAddress): string {
  switch (address.kind) {
    case 'npm':
      return `npm:${address.name}`;
    case 'git':
      return address.identity;
    case 'archive':
      return shownAddress(address.url);
  }
}

/** Returns the identity of a stored source; null if it was uploaded. */
export function keptIdentity(sourceUrl: string | null): string | null {
  if (sourceUrl === null) return null;
  if (sourceUrl.startsWith('npm:')) return `npm:${parseNpmName(sourceUrl).name}`;
  return identityOf(parseAddress(sourceUrl));
}

function segmentsOf(url: URL): string[] {
  return url.pathname
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused(`"${text.slice(0, 200)}" is not a valid part of an address`);
  }
}

function githubAddress(url: URL): PluginAddress {
  const [owner, name, ...rest] = segmentsOf(url);
  if (owner === undefined || name === undefined) throw refused(`expected a repository. ${examples}`);
  const repository = `github.com/${owner}/${name.replace(/\.git$/, '')}`;
  const archive = (ref: string): string => `https://${encodePath(repository)}/archive/${encodePath(ref)}.zip`;
  const [verb, ...path] = rest;
  if (verb === undefined) return git(repository, [{ url: archive('HEAD'), folder: undefined, tag: undefined }]);
  if (verb === 'archive' && path.length > 0) return gitFile(url, repository);
  if (verb === 'releases' && path[0] === 'tag' && path.length > 1) {
    const tag = path.slice(1).join('/');
    return git(repository, [{ url: archive(`refs/tags/${tag}`), folder: undefined, tag }]);
  }
  if (verb === 'releases' && path[0] === 'download') return gitFile(url, repository);
  return git(repository, refArchives(verb, path, archive));
}

function gitlabAddress(url: URL): PluginAddress {
  const segments = segmentsOf(url);
  const dash = segments.indexOf('-');
  const project = dash === -1 ? segments : segments.slice(0, dash);
  const [verb, ...path] = dash === -1 ? [] : segments.slice(dash + 1);
  const name = project.at(-1)?.replace(/\.git$/, '');
  if (name === undefined || project.length < 2) throw refused(`expected a repository. ${examples}`);
  const repository = ['gitlab.com', ...project.slice(0, -1), name].join('/');
  const archive = (ref: string): string =>
    `https://${encodePath(repository)}/-/archive/${encodePath(ref)}/${encodePath(`${name}-${ref.replaceAll('/', '-')}`)}.zip`;
  if (verb === undefined) return git(repository, [{ url: archive('HEAD'), folder: undefined, tag: undefined }]);
  if (verb === 'archive') return gitFile(url, repository);
  if ((verb === 'tags' || verb === 'releases') && path.length > 0) {
    const tag = path.join('/');
    return git(repository, [{ url: archive(tag), folder: undefined, tag }]);
  }
  return git(repository, refArchives(verb, path, archive));
}

/** Parses `tree/REF`, `tree/REF/FOLDER` (REF may contain slashes, so the whole is tried as a name too) and `commit/SHA`. */
function refArchives(verb: string, path: readonly string[], archive: (ref: string) => string): GitArchive[] {
  const [ref, ...folders] = path;
  if (ref === undefined || (verb !== 'tree' && verb !== 'commit')) {
    throw refused(`cannot install from "/${[verb, ...path].join('/').slice(0, 200)}". ${examples}`);
  }
  if (folders.length === 0 || verb === 'commit') return [{ url: archive(ref), folder: undefined, tag: undefined }];
  const whole = path.join('/');
  return [
    { url: archive(ref), folder: folders.join('/'), tag: undefined },
    { url: archive(whole), folder: undefined, tag: undefined },
  ];
}

function git(repository: string, archives: readonly GitArchive[]): PluginAddress {
  const folder = archives[0]?.folder;
  return { kind: 'git', identity: folder === undefined ? repository : `${repository}/${folder}`, archives };
}

/** Parses the address of an archive of a repository. */
function gitFile(url: URL, repository: string): PluginAddress {
  const tag = /\/archive\/refs\/tags\/(.+?)\.(zip|tar\.gz|tgz)$/.exec(decoded(url.pathname))?.[1];
  return git(repository, [{ url: url.href, folder: undefined, tag }]);
}

/** Parses the page of a package: `/package/NAME`, `/package/NAME/v/VERSION`. */
function npmAddress(url: URL): PluginAddress {
  const [kind, first = '', ...rest] = segmentsOf(url);
  const scoped = first.startsWith('@');
  const name = scoped ? `${first}/${rest[0] ?? ''}` : first;
  const [v, version] = scoped ? rest.slice(1) : rest;
  if (kind !== 'package' || name === '' || name.endsWith('/')) {
    throw refused('expected the page of a package, e.g. https://www.npmjs.com/package/@posthog/geoip-plugin');
  }
  return { kind: 'npm', name, version: v === 'v' ? version : undefined };
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function refused(problem: string): PluginPackageError {
  return new PluginPackageError(`url: ${problem}`, { attr: 'url' });
}
