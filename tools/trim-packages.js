// Deletes files that are never read from node_modules, a sixth of its size; npm runs it after `npm ci`. Plain JavaScript: the Node that installs
// may be too old to read TypeScript. The directory is an argument, for tests.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Paths below node_modules, with forward slashes. */
const unread = [
  // Source maps, except for those of the library that the service sends to browsers.
  /^(?!posthog-js\/dist\/).*\.map$/,
  // Headers and manual pages of Node: no package is compiled.
  /^node\/node_modules\/node-[^/]+\/(include|share|CHANGELOG\.md)$/,
  // Programs of which the build uses the library.
  /^binaryen\/bin$/,
];

const packages = process.argv[2] ?? fileURLToPath(new URL('../node_modules', import.meta.url));
const commands = join(packages, '.bin');

for (const name of namesIn(packages, { recursive: true })) {
  if (unread.some((each) => each.test(name.replaceAll(sep, '/')))) remove(join(packages, name));
}
for (const name of namesIn(commands)) {
  if (!existsSync(join(commands, name))) remove(join(commands, name));
}

function namesIn(dir, options = {}) {
  return existsSync(dir) ? readdirSync(dir, { ...options, encoding: 'utf8' }) : [];
}

function remove(path) {
  rmSync(path, { recursive: true, force: true });
}
