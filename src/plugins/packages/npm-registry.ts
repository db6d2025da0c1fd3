import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { PluginPackageError } from '../plugin-package-error.ts';

const run = promisify(execFile);
const npmTimeoutMs = 20_000;

/**
 * Address of the registry that npm is configured with on this machine, for this process (its .npmrc files and environment).
 * Throws PluginPackageError where npm cannot say.
 */
export async function registryOfNpm(): Promise<string> {
  const found = await askNpm();
  if (URL.canParse(found)) return found;
  throw unknown(`npm names "${found}" as its registry, which is no address`);
}

async function askNpm(): Promise<string> {
  try {
    const { stdout } = await run('npm', ['config', 'get', 'registry'], { timeout: npmTimeoutMs });
    return stdout.trim();
  } catch (cause) {
    throw unknown('npm, which would name its registry, cannot be run here', cause);
  }
}

function unknown(what: string, cause?: unknown): PluginPackageError {
  const message = `npm: ${what}. Set MILLRACE_NPM_REGISTRY to the address of a registry.`;
  return new PluginPackageError(message, { attr: 'npm', cause });
}
