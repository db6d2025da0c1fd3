import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { usePackage } from '../support/installed-package.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const isBuilt = existsSync(join(root, 'dist/millrace.js')) && existsSync(join(root, 'console/dist/index.html'));

/** As npm lays it out, with the dependencies of this checkout instead of ones from the registry (tools/prove/package.ts). */
async function install(directory: string): Promise<void> {
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', directory], {
    cwd: root,
  });
  const { filename } = parseOne(stdout);
  const packages = join(directory, 'node_modules');
  await mkdir(join(packages, 'millrace'), { recursive: true });
  await run('tar', ['-xzf', join(directory, filename), '-C', join(packages, 'millrace'), '--strip-components=1']);
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (!name.startsWith('.')) await symlink(join(root, 'node_modules', name), join(packages, name));
  }
}

function parseOne(text: string): { readonly filename: string } {
  const [made] = JSON.parse(text) as readonly { readonly filename: string }[];
  if (made === undefined) throw new Error(`expected npm pack to make a file, got: ${text}`);
  return made;
}

describe.skipIf(!isBuilt)('the package that npm makes', () => {
  it('contains everything for serving, importing and testing a transformation', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'millrace-package-'));
    try {
      await install(directory);
      expect(await usePackage({ node: process.execPath, directory })).toEqual([
        expect.stringMatching(/^version: \d/),
        'transformation: changes the event',
        'console: 200',
        'capture: 200 {"status":"Ok"}',
        'import: 20 events stored',
        'stopped: 0',
      ]);
    } finally {
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  });
});
