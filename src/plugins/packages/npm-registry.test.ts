import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { registryOfNpm } from './read-package.ts';

describe('the registry that npm is configured with', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'millrace-npmrc-'));
    // npm sets it in the environment of the processes that it starts, such as these tests.
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

  it('is an error that names the setting if npm is missing', async () => {
    vi.stubEnv('PATH', dir);
    await expect(registryOfNpm()).rejects.toThrow(
      'npm: npm cannot be run here to find its registry. Set MILLRACE_NPM_REGISTRY',
    );
  });

  it('is an error if npm reports no URL', async () => {
    vi.stubEnv('npm_config_registry', 'nowhere');
    await expect(registryOfNpm()).rejects.toThrow('Set MILLRACE_NPM_REGISTRY');
  });
});
