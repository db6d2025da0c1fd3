import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = join(root, 'console/dist/index.html');

/** Where the built console lies. */
export const consoleDist = join(root, 'console/dist');

/** Builds the console unless what lies in console/dist is newer than its sources. Vitest calls it before the first e2e test. */
export default function buildConsole(): void {
  if (existsSync(built) && statSync(built).mtimeMs > newestSource()) return;
  execFileSync(process.execPath, [join(root, 'scripts/build-console.js')], { stdio: 'inherit' });
}

function newestSource(): number {
  const names = readdirSync(join(root, 'console'), { recursive: true, encoding: 'utf8' });
  const sources = names.filter((name) => !name.startsWith('dist'));
  return Math.max(...sources.map((name) => statSync(join(root, 'console', name)).mtimeMs));
}
