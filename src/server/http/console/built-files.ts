import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { Encoding, ServedFile } from '../send-file.ts';

export interface BuiltFile extends ServedFile {
  /** Its name holds a hash of its content: what it names never changes. */
  readonly immutable: boolean;
}

const suffixes: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' };

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/**
 * The files of a build by their path in it; undefined when there is no build.
 * @param dir absolute path of console/dist
 */
export function readBuild(dir: string): ReadonlyMap<string, BuiltFile> | undefined {
  if (!existsSync(join(dir, 'index.html'))) return undefined;
  const names = new Set(
    readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/')),
  );
  const served = [...names].filter((name) => Object.hasOwn(types, extname(name)));
  return new Map(served.map((name) => [name, describeFile(dir, name, names)]));
}

function describeFile(dir: string, name: string, names: ReadonlySet<string>): BuiltFile {
  return {
    type: types[extname(name)] ?? 'application/octet-stream',
    immutable: name.startsWith('assets/'),
    encodings: (['br', 'gzip'] as const).filter((encoding) => names.has(name + suffixes[encoding])),
    read: (encoding) => readFile(join(dir, encoding === undefined ? name : name + suffixes[encoding])),
  };
}
