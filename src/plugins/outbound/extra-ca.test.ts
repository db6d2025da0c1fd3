import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readExtraCa } from './extra-ca.ts';
import { certificate, privateKey } from './certificate.fixture.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'millrace-ca-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function written(text: string): Promise<string> {
  const path = join(directory, 'ca.pem');
  await writeFile(path, text);
  return path;
}

describe('additional certificates of an operator', () => {
  it('none by default; all certificates of a file are used', async () => {
    expect(readExtraCa('')).toBeUndefined();
    const two = `# ours\n${certificate}\n${certificate}`;
    expect(readExtraCa(await written(two))).toBe(two);
  });

  it.each([
    ['a file that is not there', undefined, /expected the path of a file.*ENOENT/],
    ['a file without one', privateKey, /found none in/],
    ['one that is damaged', certificate.replace('MIIBojCC', 'AAAAAAAA'), /got an unreadable one/],
  ])('%s is said at the start', async (_name, text, sentence) => {
    const path = text === undefined ? join(directory, 'missing.pem') : await written(text);
    expect(() => readExtraCa(path)).toThrow(sentence);
  });
});
