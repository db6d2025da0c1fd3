import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { registryOfNpm } from './read-package.ts';

describe('the registry that npm is configured with', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'millrace-npmrc-'));
    // npm names it in the environment of what it starts, as it does with these tests.
    vi.stubEnv('npm_config_registry', undefined);
    vi.stubEnv('NPM_CONFIG_REGISTRY', undefined);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(dir, { recursive: true });
  });

  it('is the one of the .npmrc', async () => {
    const file = join(dir, '.npmrc');
    await writeFile(file, 'registry=https://npm.example/mirror/\n');
    vi.stubEnv('npm_config_userconfig', file);
    expect(await registryOfNpm()).toBe('https://npm.example/mirror/');
  });

  it('is missed with a sentence that names the setting where there is no npm', async () => {
    vi.stubEnv('PATH', dir);
    await expect(registryOfNpm()).rejects.toThrow(
      'npm: npm cannot be run here to find its registry. Set MILLRACE_NPM_REGISTRY',
    );
  });

  it('is missed with a sentence where npm names no address', async () => {
    vi.stubEnv('npm_config_registry', 'nowhere');
    await expect(registryOfNpm()).rejects.toThrow('Set MILLRACE_NPM_REGISTRY');
  });
});
