// Builds what a checkout runs and trims its packages; npm calls it as `prepare` after it has installed them, and npx when it first meets the
// checkout. Plain JavaScript: the Node that installs may be too old to read TypeScript.
import { existsSync } from 'node:fs';

const exists = (path) => existsSync(new URL(`../${path}`, import.meta.url));

if (process.env.npm_command === 'exec' && exists('dist')) process.exit();
if (exists('node_modules/assemblyscript') && exists('node_modules/vite')) {
  await import('./build-server.js');
  await import('./build-console.js');
} else {
  const how = '"npm ci" installs them and builds; "npm prune --omit=dev" then removes them';
  console.error(`millrace: nothing was built, because the development packages are absent: ${how}`);
}
await import('./trim-packages.js');
