import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { testBucketServer } from '../../test/support/bucket-server.ts';
import { openDirStaging, openStaging } from './staging/open-staging.ts';
import { stagingConformance } from '../../test/conformance/staging/staging.ts';

const undo: (() => Promise<void>)[] = [];
const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };

afterEach(async () => {
  for (const each of undo.splice(0)) await each();
});

async function tempDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'millrace-staging-'));
  undo.push(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

stagingConformance('a directory', async () => await openDirStaging(join(await tempDir(), 'new')));

stagingConformance('a bucket', async () => {
  const server = await testBucketServer({ bucket: 'staging', accessKeyId: keys.accessKeyId, pageSize: 2 });
  undo.push(async () => await server[Symbol.asyncDispose]());
  return await openStaging('s3://staging/imports', { endpoint: server.endpoint, keys });
});

describe('staging in a directory', () => {
  it('an interrupted write is not listed, and is removed with its run', async () => {
    const dir = await tempDir();
    const staging = await openStaging(dir);
    await staging.write('r1/a', [Buffer.from('a')]);
    await writeFile(join(dir, 'r1', 'b.part~1'), 'half');
    expect(await staging.list('r1/')).toEqual([{ key: 'r1/a', bytes: 1 }]);
    await staging.remove('r1/');
    expect(await readdir(dir)).toEqual([]);
  });
});

describe('the location of staging', () => {
  it.each(['s3://', 's3://X', 'gs://bucket/a'])('%s is refused', async (place) => {
    await expect(openStaging(place)).rejects.toThrow('expected a directory or s3://bucket/prefix');
  });
});
