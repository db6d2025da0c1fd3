import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import buildConsole, { consoleDist } from './support/builds.ts';

const firstLoadBytesMax = 250_000;

interface BuiltChunk {
  readonly file: string;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

type Manifest = Readonly<Record<string, BuiltChunk>>;

describe('the built console', () => {
  let manifest: Manifest = {};
  beforeAll(() => {
    buildConsole();
    manifest = JSON.parse(readFileSync(join(consoleDist, 'manifest.json'), 'utf8')) as Manifest;
  });

  it(`needs at most ${firstLoadBytesMax / 1000} kB, gzipped, to show its first page`, () => {
    const files = filesOf(manifest, ['index.html', 'src/pages/home/home-page.tsx']);
    const bytes = [...files].map((file) => readFileSync(join(consoleDist, `${file}.gz`)).length);
    expect(files.size).toBeGreaterThan(2);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(firstLoadBytesMax);
  });

  it('loads nothing from other hosts, and has no inline content that the content security policy would refuse', () => {
    const index = readFileSync(join(consoleDist, 'index.html'), 'utf8');
    expect(index).not.toMatch(/<style|style=|<script(?![^>]*\ssrc=)|\son\w+=/);
    const addresses = [...index.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address ?? '');
    expect(addresses.filter((address) => !address.startsWith('/console/'))).toEqual([]);
  });
});

/** What is fetched for the modules: themselves, all that they import at once, and their styles. */
function filesOf(manifest: Manifest, entries: readonly string[]): Set<string> {
  const chunks = new Set(entries);
  const files = new Set<string>();
  for (const name of chunks) {
    const chunk = manifest[name];
    if (chunk === undefined) throw new Error(`expected ${name} in the manifest`);
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const each of chunk.imports ?? []) chunks.add(each);
  }
  return files;
}
