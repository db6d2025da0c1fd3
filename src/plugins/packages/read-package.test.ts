import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keptIdentity } from '../plugin-address.ts';
import { readPackage, type PackageSource, type PluginPackage } from './read-package.ts';
import { makeTgz, makeZip, members } from '../../../test/support/archives.ts';
import { startPackageServer, type PackageServer } from '../../../test/support/package-server.ts';

let server: PackageServer;
const tarball = (text: string) => makeTgz(members({ 'package/plugin.json': '{}', 'package/index.js': text }));
const repository = (text: string) =>
  makeZip(
    members({ 'r-main/index.js': text, 'r-main/packages/x/index.js': `${text} x`, 'r-main/packages/y/z.js': '' }),
  );

beforeAll(async () => {
  server = await startPackageServer();
  server.publish(
    'plain',
    { '1.0.0': tarball('one'), '1.2.0': tarball('one two'), '2.0.0-beta.1': tarball('beta') },
    { tags: { latest: '1.2.0', next: '2.0.0-beta.1' } },
  );
  server.publish('@scope/app', { '0.0.7': tarball('scoped') });
  for (const ref of ['HEAD', 'main', 'refs/tags/v1.5', 'fix/crash']) {
    server.answers.set(`/github.com/o/r/archive/${ref}.zip`, { body: repository(ref) });
  }
  server.answers.set('/github.com/o/r/archive/refs/heads/dev.tar.gz', { body: tarball('dev') });
  server.answers.set('/gitlab.com/g/p/-/archive/HEAD/p-HEAD.zip', { body: repository('lab') });
  server.answers.set('/files/plugin.zip?token=hunter2', { body: repository('direct') });
});
afterAll(() => server[Symbol.asyncDispose]());

const read = (source: PackageSource): Promise<PluginPackage> => readPackage(server, source);
const entryOf = ({ files }: PluginPackage): string => Buffer.from(files.get('index.js') ?? '').toString();

describe('a package of the npm registry', () => {
  it.each([
    ['plain', undefined, 'one two', '1.2.0'],
    ['plain@1.0.0', undefined, 'one', '1.0.0'],
    ['plain', '1.0.0', 'one', '1.0.0'],
    ['plain@next', undefined, 'beta', '2.0.0-beta.1'],
    ['plain@^1.0.0', undefined, 'one two', '1.2.0'],
    ['@scope/app', undefined, 'scoped', '0.0.7'],
    ['@scope/app@0.0.7', undefined, 'scoped', '0.0.7'],
  ])('%s at %s', async (npm, wanted, text, version) => {
    const found = await read({ kind: 'npm', npm, version: wanted });
    const name = npm.replace(/(?!^)@.*/, '');
    expect(entryOf(found)).toBe(text);
    expect(found).toMatchObject({
      sourceKind: 'npm',
      sourceUrl: `npm:${name}@${version}`,
      version,
      identity: `npm:${name}`,
    });
    expect(keptIdentity(found.sourceUrl)).toBe(found.identity);
  });

  it('may be named by its page', async () => {
    const found = await read({ kind: 'url', url: 'https://www.npmjs.com/package/@scope/app/v/0.0.7' });
    expect(found).toMatchObject({ sourceKind: 'npm', sourceUrl: 'npm:@scope/app@0.0.7' });
  });

  it.each([
    ['sha512 of other bytes', { integrity: `sha512-${'A'.repeat(86)}==` }, 'sha512 differs'],
    ['shasum of other bytes', { shasum: '0'.repeat(40) }, 'sha1 differs'],
    ['no checksum at all', {}, 'no checksum'],
    ['a checksum of no known kind', { integrity: 'md5-AAAA' }, 'no checksum'],
  ])('is refused with %s', async (_name, dist, message) => {
    server.publish('bad', { '1.0.0': tarball('bad') }, { dist: (_bytes, url) => ({ tarball: url, ...dist }) });
    await expect(read({ kind: 'npm', npm: 'bad' })).rejects.toThrow(message);
  });

  it('of a mirror with addresses of the original registry is fetched from the mirror', async () => {
    const { createHash } = await import('node:crypto');
    const sha = (bytes: Uint8Array) => createHash('sha1').update(bytes).digest('hex');
    const dist = (bytes: Uint8Array) => ({
      tarball: 'https://registry.example/mirrored/-/1.0.0.tgz',
      shasum: sha(bytes),
    });
    server.publish('mirrored', { '1.0.0': tarball('mirrored') }, { dist });
    expect(entryOf(await read({ kind: 'npm', npm: 'mirrored' }))).toBe('mirrored');
  });

  it.each([
    ['missing', 'the registry has no package "missing"'],
    ['plain@9', '"plain" has no version "9"; there are: latest, next, 1.0.0, 1.2.0, 2.0.0-beta.1'],
    ['plain@constructor', 'has no version "constructor"'],
    ['../etc', 'expected a package such as'],
    ['a/b', 'expected a package such as'],
    ['plain@', 'expected a package such as'],
  ])('%s is refused with a sentence', async (npm, message) => {
    await expect(read({ kind: 'npm', npm })).rejects.toThrow(message);
    await expect(read({ kind: 'npm', npm })).rejects.toMatchObject({ name: 'PluginPackageError' });
  });
});

describe('a public repository', () => {
  it.each([
    ['https://github.com/o/r', 'HEAD', undefined],
    ['https://github.com/o/r/tree/main', 'main', undefined],
    ['https://github.com/o/r/releases/tag/v1.5', 'refs/tags/v1.5', 'v1.5'],
    ['https://github.com/o/r/tree/fix/crash', 'fix/crash', undefined],
    ['https://github.com/o/r/tree/main/packages/x', 'main x', undefined],
    ['https://github.com/o/r/archive/refs/heads/dev.tar.gz', 'dev', undefined],
    ['https://gitlab.com/g/p', 'lab', undefined],
  ])('%s', async (url, text, version) => {
    const found = await read({ kind: 'url', url });
    expect(entryOf(found)).toBe(text);
    expect(found).toMatchObject({ sourceKind: 'git', sourceUrl: url, version });
    expect(keptIdentity(found.sourceUrl)).toBe(found.identity);
  });

  it('that does not exist, or lacks the folder, lists the attempts', async () => {
    const gone = read({ kind: 'url', url: 'https://github.com/o/gone' });
    await expect(gone).rejects.toThrow(
      'Nothing is at https://github.com/o/gone/archive/HEAD.zip (404). Expected a public',
    );
    const noFolder = read({ kind: 'url', url: 'https://github.com/o/r/tree/main/packages/none' });
    await expect(noFolder).rejects.toThrow('The repository has no folder "packages/none".');
  });
});

describe('an address of an archive', () => {
  it('is fetched as given; its query may be secret and is not stored', async () => {
    const found = await read({ kind: 'url', url: `${server.url}/files/plugin.zip?token=hunter2` });
    expect(entryOf(found)).toBe('direct');
    expect(found).toMatchObject({
      sourceKind: 'archive',
      sourceUrl: `${server.url}/files/plugin.zip`,
      version: undefined,
    });
  });

  it.each([
    ['http://10.0.0.1/x.zip', 'url: the package could not be fetched'],
    ['http://169.254.169.254/latest', 'url: the package could not be fetched'],
    ['http://[::1]/x.zip', 'url: the package could not be fetched'],
  ])('%s is refused: only public addresses are requested', async (url, message) => {
    await expect(read({ kind: 'url', url })).rejects.toThrow(message);
  });

  it('that responds with an error or a non-archive is refused', async () => {
    server.answers.set('/files/error?a=hunter2', { status: 500, body: 'x' });
    server.answers.set('/files/page', { body: '<html>' });
    await expect(read({ kind: 'url', url: `${server.url}/files/error?a=hunter2` })).rejects.toThrow(
      '/files/error, got status 500',
    );
    await expect(read({ kind: 'url', url: `${server.url}/files/page` })).rejects.toThrow('looks like a web page');
  });
});

describe('files in a request', () => {
  it('are read by path', async () => {
    const found = await read({ kind: 'files', files: { './index.js': 'a', 'lib/b.ts': 'b' } });
    expect([...found.files.keys()]).toEqual(['index.js', 'lib/b.ts']);
    expect(found).toMatchObject({ sourceKind: 'source', sourceUrl: null, identity: null });
  });

  it.each([['../x.js'], ['/x.js'], [''], ['a\\b.js'], ['a/../../x.js'], ['\0']])('%j is refused', async (path) => {
    await expect(read({ kind: 'files', files: { [path]: '' } })).rejects.toThrow('expected paths below the plugin');
  });

  it('must not be empty', async () => {
    await expect(read({ kind: 'files', files: {} })).rejects.toThrow('expected at least index.ts or index.js');
  });
});
