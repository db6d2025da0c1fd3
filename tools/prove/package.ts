/**
 * Installs the package as a user with nothing but npm does, and uses it: `npm run prove -- package [--node <program>]…`.
 *
 * `npm pack` creates the package; for each Node (default: the one that runs this, and the one on the PATH outside of node_modules) it
 * is installed in an empty directory with npm, with dependencies from the registry. Then it serves, accepts an event, imports and
 * verifies records, and tries a transformation. Exits with 0 if all of that works with every Node.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { usePackage } from '../../test/support/installed-package.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({ options: { node: { type: 'string', multiple: true } } });
const outputBytesMax = 64 * 1024 * 1024;

const work = await mkdtemp(join(tmpdir(), 'millrace-package-'));
try {
  await run('npm', ['pack', '--pack-destination', work], { cwd: root, maxBuffer: outputBytesMax });
  const [tarball] = await readdir(work);
  if (tarball === undefined) throw new Error('expected npm pack to make a file, got none');
  for (const node of values.node ?? [process.execPath, ...nodeOutside()]) {
    const directory = await mkdtemp(join(work, 'empty-'));
    const path = [dirname(node), process.env['PATH']].join(delimiter);
    const env = { ...process.env, PATH: path };
    await run('npm', ['install', '--no-audit', '--no-fund', join(work, tarball)], { cwd: directory, env });
    const { stdout: version } = await run(node, ['--version']);
    console.log(`Node ${version.trim()}`);
    for (const line of await usePackage({ node, directory })) console.log(`  ${line}`);
  }
} finally {
  await rm(work, { recursive: true, force: true, maxRetries: 5 });
}

/** As a shell finds it that npm did not start. */
function nodeOutside(): string[] {
  const places = (process.env['PATH'] ?? '').split(delimiter).filter((place) => !place.includes('node_modules'));
  const found = places.map((place) => join(place, 'node')).find((path) => existsSync(path));
  return found === undefined ? [] : [found];
}
