import { describe, expect, it } from 'vitest';
import { archiveBytesMax, filesMax, unpackedBytesMax } from './package-files.ts';
import { readArchive } from './read-archive.ts';
import { makeTar, makeTgz, makeZip, members, type TestMember } from '../../../test/support/archives.ts';

const formats = [
  ['.zip', makeZip],
  ['.tgz', makeTgz],
  ['.tar', makeTar],
] as const;

function textsOf(files: ReadonlyMap<string, Uint8Array>): Record<string, string> {
  return Object.fromEntries([...files].map(([path, content]) => [path, Buffer.from(content).toString()]));
}

describe.each(formats)('an archive in %s form', (_name, make: (list: readonly TestMember[]) => Uint8Array) => {
  const read = async (list: readonly TestMember[]) => textsOf(await readArchive(make(list), 'archive'));

  it('returns its files; a single top-level folder is the root', async () => {
    const list = members({ 'app-main/plugin.json': '{}', 'app-main/src/index.ts': 'let ä = 1', 'app-main/empty': '' });
    const expected = { 'plugin.json': '{}', 'src/index.ts': 'let ä = 1', empty: '' };
    expect(await read([{ path: 'app-main/', kind: 'folder' }, ...list])).toEqual(expected);
  });

  it('keeps folders if there are several top-level entries, and skips files added by operating systems', async () => {
    const list = members({ './index.js': 'a', 'lib/x.js': 'b', '__MACOSX/index.js': 'c', 'lib/.DS_Store': 'd' });
    expect(await read(list)).toEqual({ 'index.js': 'a', 'lib/x.js': 'b' });
  });

  it.each(['../evil.js', 'a/../../evil.js', '/etc/evil.js', 'a/b/../../../evil.js', 'C:/evil.js'])(
    'is refused with a file at %s',
    async (path) => {
      await expect(read(members({ 'index.js': '1', [path]: 'x' }))).rejects.toMatchObject({
        name: 'PluginPackageError',
        attr: 'archive',
      });
    },
  );

  it('skips links', async () => {
    const link: TestMember = { path: 'p/secret.js', kind: 'link', target: '/etc/passwd' };
    expect(await read([link, ...members({ 'p/index.js': 'x', 'p/b.js': 'y' })])).toEqual({
      'index.js': 'x',
      'b.js': 'y',
    });
  });

  it(`is refused with more than ${filesMax} files`, async () => {
    const list = Array.from({ length: filesMax + 1 }, (_, index) => ({ path: `f${index}.js`, content: '' }));
    await expect(read(list)).rejects.toThrow(`more than ${filesMax} files`);
  });

  it('is refused if it is empty', async () => {
    await expect(read([{ path: 'empty/', kind: 'folder' }])).rejects.toThrow('contains no files');
  });
});

describe('a bomb', () => {
  const zeros = new Uint8Array(unpackedBytesMax + 1024 * 1024);

  it.each([
    ['a zip that tells its size', makeZip([{ path: 'index.js', content: zeros }])],
    ['a tarball', makeTgz([{ path: 'index.js', content: zeros }])],
    [
      'a zip in many parts',
      makeZip(Array.from({ length: 60 }, (_, n) => ({ path: `${n}`, content: zeros.subarray(0, 1_048_576) }))),
    ],
  ])('is refused: %s', async (_name, bytes) => {
    expect(bytes.byteLength).toBeLessThan(archiveBytesMax);
    await expect(readArchive(bytes, 'archive')).rejects.toThrow('more than 50 MiB when unpacked');
  });

  it('a zip that claims to be small is stopped by its unpacked size', async () => {
    const bytes = makeZip([{ path: 'index.js', content: zeros, claims: 10 }]);
    await expect(readArchive(bytes, 'archive')).rejects.toMatchObject({ name: 'PluginPackageError' });
  });

  it('an archive that is too large is not opened', async () => {
    await expect(readArchive(new Uint8Array(archiveBytesMax + 1), 'archive')).rejects.toThrow('at most 100 MiB');
  });
});

describe('files that are not archives', () => {
  const whole = makeTgz(members({ 'index.js': 'x'.repeat(10_000) }));

  it.each([
    ['text', Buffer.from('function processEvent() {}'), 'Expected an archive'],
    ['a web page', Buffer.from('<!doctype html><p>Sign in'), 'looks like a web page'],
    ['nothing', Buffer.alloc(0), 'Expected an archive'],
    ['half a tarball', whole.subarray(0, whole.length / 2), 'cannot be read'],
    ['half a zip', makeZip(members({ 'index.js': 'x' })).subarray(0, 40), 'cannot be read'],
  ])('%s is refused with a sentence', async (_name, bytes, message) => {
    await expect(readArchive(bytes, 'url')).rejects.toThrow(message);
  });
});
