import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where the built console lies. */
export const consoleDist = join(root, 'console/dist');

/** Builds the service and the console unless what lies there is newer than the sources. Vitest calls it before the first e2e test. */
export default function build(): void {
  const isBuilt = ['src', 'assembly', 'tools/build-server.js', 'package-lock.json'].every((path) =>
    isNewer('dist/millrace.js', path),
  );
  if (!isBuilt) run('tools/build-server.js');
  const isConsoleBuilt = ['console', 'src/wire/contract', 'src/demo'].every((path) =>
    isNewer('console/dist/index.html', path),
  );
  if (!isConsoleBuilt) run('tools/build-console.js');
}

function run(script: string): void {
  execFileSync(process.execPath, [join(root, script)], { stdio: 'inherit' });
}

function isNewer(built: string, source: string): boolean {
  if (!existsSync(join(root, built))) return false;
  const newest = Math.max(...filesOf(join(root, source)).map((path) => statSync(path).mtimeMs));
  return statSync(join(root, built)).mtimeMs > newest;
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => !name.startsWith('dist')).map((name) => join(path, name));
}
