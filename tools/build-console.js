// Builds the console into console/dist; npm runs it after `npm ci`. Plain JavaScript: the Node that installs may be too old
// to read TypeScript.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const vite = `${root}node_modules/vite/bin/vite.js`;
const ownNode = `${root}node_modules/node/bin/node`;

if (!existsSync(vite) || !existsSync(`${root}console/vite.config.ts`)) {
  console.log('The console is not built: that takes the development dependencies. The service runs without it.');
} else {
  const node = existsSync(ownNode) ? ownNode : process.execPath;
  const more = process.argv.slice(2);
  const args = [vite, 'build', '--config', `${root}console/vite.config.ts`, '--logLevel', 'warn', ...more];
  // Always the production build of React, whatever the environment (a test runs this too).
  const env = { ...process.env, NODE_ENV: 'production' };
  const { status, error } = spawnSync(node, args, { stdio: 'inherit', cwd: root, env });
  if (error !== undefined) throw error;
  process.exitCode = status ?? 1;
}
