#!/usr/bin/env node
// Entry point of the command. The program needs Node 24 (type stripping, node:sqlite); when an older Node
// runs this file, the Node that npm installed with the program takes over with the same arguments.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const neededMajor = 24;

if (Number(process.versions.node.split('.')[0]) >= neededMajor) {
  // Beside the program, not in a temp directory that others may write to. Where that cannot be written, Node goes without.
  const compiled = fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url));
  module.enableCompileCache(compiled);
  // Threads look for it in the environment.
  process.env.NODE_COMPILE_CACHE ??= compiled;
  if (process.connected) endWithParent();
  await (isBuilt() ? import('../dist/millrace.js') : import('../src/cli/main.ts'));
} else {
  const child = spawn(installedNode(), [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  child.on('error', () => {
    console.error(
      `millrace needs Node ${neededMajor} or newer, this is ${process.version}, and the one that npm installs with it is not there. Install again, with install scripts allowed.`,
    );
    process.exitCode = 78;
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
  });
}

/** A launcher that is killed cannot pass that on; the end of the channel to it can. */
function endWithParent() {
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

/** In a checkout it lies in node_modules, for a package that was installed perhaps beside it. Where it is not, starting it says so. */
function installedNode() {
  try {
    return join(dirname(module.createRequire(import.meta.url).resolve('node/package.json')), 'bin/node');
  } catch {
    return 'node_modules/node/bin/node';
  }
}

/** Whether dist/ holds these sources. In a checkout they may have changed since; a package is built once. */
function isBuilt() {
  const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
  const built = statSync(path('dist/millrace.js'), { throwIfNoEntry: false });
  if (built === undefined || !existsSync(path('.git'))) return built !== undefined;
  return isOlder(path('src'), built.mtimeMs);
}

/** Whether all sources below the directory are older. Twice as fast as a recursive `readdir`, which every start would wait for. */
function isOlder(dir, builtMs) {
  return readdirSync(dir, { withFileTypes: true }).every((entry) => {
    const path = `${dir}/${entry.name}`;
    if (entry.isDirectory()) return isOlder(path, builtMs);
    if (!/\.(ts|json)$/.test(entry.name) || entry.name.endsWith('.test.ts')) return true;
    return statSync(path).mtimeMs < builtMs;
  });
}
