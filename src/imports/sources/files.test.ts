import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Source, SourceHost } from '../source.ts';
import { SourceError } from '../source.ts';
import { SettingsError } from '../../plugins/plugin.ts';
import { files } from './files.ts';
import { shortKey } from './find-files.ts';
import { readPart, readSource, testSourceHost } from './source-host.fixture.ts';

let dir = '';
let allowed = '';
const context = { signal: new AbortController().signal };

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-files-'));
  allowed = join(dir, 'allowed');
  await mkdir(join(allowed, 'sub', 'deep'), { recursive: true });
  await mkdir(join(dir, 'uploads'));
  await put('allowed/b.json', '{"file":"b"}\n');
  await put('allowed/a.json.gz', gzipSync('{"file":"a"}\n'));
  await put('allowed/sub/deep/c.csv', 'file\nc\n');
  await put('allowed/.hidden', '{"file":"hidden"}\n');
  await put('outside.json', '{"file":"outside"}\n');
  await put('uploads/up 1.json', '{"file":"up"}\n');
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

async function put(path: string, content: string | Buffer): Promise<void> {
  await writeFile(join(dir, path), content);
}

function open(paths: string, host: Partial<SourceHost> = {}): Source {
  const places = { allowedDirs: [allowed], uploadsDir: join(dir, 'uploads'), tempDir: dir };
  return files.createSource({ paths }, testSourceHost({ ...places, ...host }));
}

/** The records of each part, by key without the directory. */
async function read(source: Source): Promise<Record<string, string>> {
  const found = await readSource(source, {});
  return Object.fromEntries([...found].map(([key, lines]) => [key.replace(`${dir}/`, ''), lines.join()]));
}

describe('files to import', () => {
  const all = {
    'allowed/a.json.gz': '{"file":"a"}',
    'allowed/b.json': '{"file":"b"}',
    'allowed/sub/deep/c.csv': '{"file":"c"}',
  };

  it('a directory gives all its files by name, without hidden ones', async () => {
    const found = await read(open(allowed));
    expect(found).toEqual(all);
    expect(Object.keys(found)).toEqual(Object.keys(all));
  });

  it('paths may be absolute, relative to an allowed directory, or patterns; each file is read once', async () => {
    expect(Object.keys(await read(open(`b.json\n\n ${allowed}/*.json*\nb.json`)))).toEqual([
      'allowed/b.json',
      'allowed/a.json.gz',
    ]);
    expect(await read(open('**/*.{csv,gz}'))).toEqual({
      'allowed/a.json.gz': '{"file":"a"}',
      'allowed/sub/deep/c.csv': '{"file":"c"}',
    });
  });

  it('a name that looks like a pattern is tried as a file first', async () => {
    await put('allowed/[1].json', '{"file":"1"}\n');
    expect(await read(open('[1].json'))).toEqual({ 'allowed/[1].json': '{"file":"1"}' });
  });

  it('uploaded files have separate names', async () => {
    expect(await read(open('upload:up 1.json'))).toEqual({ 'upload:up 1.json': '{"file":"up"}' });
    expect(Object.keys(await read(open('upload:*', { allowedDirs: [] })))).toEqual(['upload:up 1.json']);
  });

  it('parts have a size and a mark of changes, and can be resumed', async () => {
    const [before] = await open('b.json').listParts({}, context);
    expect(before).toMatchObject({ key: join(allowed, 'b.json'), bytes: 13, stable: true });
    await put('allowed/b.json', '{"file":"B"}\n');
    await utimes(join(allowed, 'b.json'), 1, 1);
    const [after] = await open('b.json').listParts({}, context);
    expect(after?.identity).not.toBe(before?.identity);
    if (before === undefined) throw new Error('expected a part');
    await expect(readPart(open('b.json'), before)).rejects.toThrow('has changed since it was listed');
  });

  it('the command line reads every file that its user may read', async () => {
    expect(await read(open(join(dir, 'outside.json'), { allowedDirs: undefined }))).toEqual({
      'outside.json': '{"file":"outside"}',
    });
    expect(await read(open(`${allowed}/../outside.json`, { allowedDirs: undefined }))).toEqual({
      'outside.json': '{"file":"outside"}',
    });
  });
});

describe('files that are not to be read', () => {
  it.each([
    '../outside.json',
    'sub/../../outside.json',
    '{a,..}/outside.json',
    'upload:../outside.json',
    '{.,x}{.,y}/outside.json',
    'upload:a/b',
    'upload:..',
    'upload:{.,x}{.,y}',
    '{1..20000}.json',
    '{a,b}'.repeat(16),
    'upload:{1..20000}',
    ' \n',
  ])('%j is rejected as a setting', (paths) => {
    expect(() => open(paths)).toThrow(SettingsError);
  });

  it('uploads are rejected where they are not supported', () => {
    expect(() => open('upload:a', { uploadsDir: undefined })).toThrow('files cannot be uploaded here');
  });

  it('an error does not reveal whether a file outside exists', async () => {
    for (const path of ['/etc/passwd', '/etc/none', '/etc/*', join(dir, 'outside.json'), `${allowed}-other/x`]) {
      await expect(open(path).listParts({}, context)).rejects.toThrow('only files in');
    }
    await expect(open('b.json', { allowedDirs: [] }).listParts({}, context)).rejects.toThrow('reads no directory');
  });

  it('links to files outside are rejected, also as directories and in patterns', async () => {
    await symlink(join(dir, 'outside.json'), join(allowed, 'link.json'));
    for (const path of ['link.json', 'l*.json', allowed]) {
      await expect(open(path).listParts({}, context)).rejects.toThrow(SourceError);
    }
    await rm(join(allowed, 'link.json'));
    await symlink(dir, join(allowed, 'up'));
    await expect(open('up/outside.json').listParts({}, context)).rejects.toThrow('is not allowed to be read');
    await expect(open('up/*.json').listParts({}, context)).rejects.toThrow('is not allowed to be read');
  });

  it('files outside the allowed directory and the uploads are never named, whatever the pattern', async () => {
    await put('uploads-of-others.json', '{"file":"others"}\n');
    await symlink(dir, join(allowed, 'up'));
    const patterns = ['[.][.]/*', '[.][.]/outside.json', '?[.]/*', '*/../outside.json', '[.]./*', '.?/*', '.*/*'];
    const uploads = ['upload:[.][.]', 'upload:?[.]', 'upload:.?', 'upload:.*'];
    const links = ['up/*', 'up/outside.json', 'up/none.json', '*/outside.json', '[u]p/none.json'];
    for (const path of [...patterns, ...uploads, ...links]) {
      const failure = await Promise.resolve()
        .then(() => open(path).listParts({}, context))
        .catch((error: unknown) => error);
      expect({ path, isError: failure instanceof Error }).toEqual({ path, isError: true });
      const named = String(failure).replace(path, '');
      expect({ path, named }).toEqual({ path, named: expect.not.stringMatching(/outside\.json|none\.json|others/) });
    }
  });

  it('deep patterns end: each directory is searched once for each remaining name', async () => {
    const depth = 30;
    await mkdir(join(allowed, ...Array.from({ length: depth }, () => 'd')), { recursive: true });
    const path = `${'**/d/'.repeat(depth / 2)}**/none.json`;
    await expect(open(path).listParts({}, context)).rejects.toThrow('found none');
    expect(Object.keys(await read(open('**/**/**/b.json')))).toEqual(['allowed/b.json']);
    expect(Object.keys(await read(open('sub/**')))).toEqual(['allowed/sub/deep/c.csv']);
  });

  it('a search stops with the signal', async () => {
    const signal = AbortSignal.abort(new Error('cancelled'));
    await expect(open('**/x').listParts({}, { signal })).rejects.toThrow('cancelled');
  });

  it('a link that replaces a file after it was listed is rejected', async () => {
    const source = open('b.json');
    const [part] = await source.listParts({}, context);
    await rm(join(allowed, 'b.json'));
    await symlink(join(dir, 'outside.json'), join(allowed, 'b.json'));
    if (part === undefined) throw new Error('expected a part');
    await expect(readPart(source, part)).rejects.toThrow('is not allowed to be read');
  });

  it('links within the directory are followed, and count as their target', async () => {
    await symlink(join(allowed, 'b.json'), join(allowed, 'link.json'));
    expect(Object.values(await read(open('link.json\nb.json')))).toEqual(['{"file":"b"}']);
  });

  it('a path without files is an error that names the path', async () => {
    await expect(open('none.json').listParts({}, context)).rejects.toThrow(/expected a file at none.json, found none/);
    await expect(open('*.none').listParts({}, context)).rejects.toThrow(/found none/);
    await mkdir(join(allowed, 'nothing'));
    await expect(open('nothing').listParts({}, context)).rejects.toThrow(
      'expected files in the directory nothing, found none: check the path',
    );
  });

  // The superuser may read everything.
  it.skipIf(process.getuid?.() === 0)('a file that must not be read is found when files are listed', async () => {
    const path = join(allowed, 'secret.json');
    await writeFile(path, '{}', { mode: 0o000 });
    await expect(open('secret.json').listParts({}, context)).rejects.toThrow('permission denied');
  });
});

describe('keys of parts', () => {
  it('different long paths have different keys', () => {
    const [one, two] = ['1', '2'].map((digit) => shortKey(`${'a'.repeat(400)}${digit}${'b'.repeat(400)}`));
    expect(one).not.toBe(two);
    expect(one?.length).toBeLessThanOrEqual(500);
  });
});
