import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testBucketServer } from '../../../test/support/bucket-server.ts';
import { tempMetadata } from '../../../test/support/metadata.ts';
import { newRun, start } from '../../../test/support/runs.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { openStaging } from '../staging/open-staging.ts';
import type { Staging } from '../staging.ts';
import { claimRun } from './claim-run.ts';
import { heldStaging } from './held-staging.ts';
import { RunLostError } from './leased-run.ts';
import { createRun } from './run-store.ts';
import { createRunWriter } from './run-writer.ts';

const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };

/** Claims the run and returns the staging of that worker. */
async function take(db: Metadata, staging: Staging, now: number): Promise<Staging> {
  const claim = await claimRun(db, now, 1000);
  if (claim === undefined) throw new Error('expected the run to be due');
  const { signal } = new AbortController();
  return heldStaging(staging, createRunWriter({ db, clock: { now: () => now }, signal }, claim));
}

async function contentOf(staging: Staging, key: string): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of staging.read(key)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Returns the files that remain after both workers wrote. */
async function afterBoth(staging: Staging): Promise<Record<string, string>> {
  await using store = await tempMetadata();
  await createRun(store.db, newRun({ id: 'r' }));
  const first = await take(store.db, staging, start);
  await first.write('r/before', [Buffer.from('of the first')]);
  const [begun, proceed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  async function* slow(): AsyncGenerator<Buffer> {
    yield Buffer.from('of the ');
    begun.resolve();
    await proceed.promise;
    yield Buffer.from('first');
  }
  const writing = first.write('r/days/1', slow());
  await begun.promise;
  const second = await take(store.db, staging, start + 1001);
  await second.write('r/days/1', [Buffer.from('of the second')]);
  proceed.resolve();
  await expect(writing).rejects.toThrow(RunLostError);
  await expect(first.write('r/late', [Buffer.from('late')])).rejects.toThrow(RunLostError);
  await expect(first.remove('r/')).rejects.toThrow(RunLostError);
  const found: Record<string, string> = {};
  for (const { key } of await staging.list('r/')) found[key] = await contentOf(staging, key);
  return found;
}

describe('a worker that stalled while another one claimed its run', () => {
  const left = { 'r/before': 'of the first', 'r/days/1': 'of the second' };

  it('completes no file in a directory, and removes none', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'millrace-held-'));
    const found = await afterBoth(await openStaging(dir)).finally(() => rm(dir, { recursive: true, force: true }));
    expect(found).toEqual(left);
  });

  it('completes no file in a bucket, and removes none', async () => {
    await using server = await testBucketServer({ bucket: 'staging', accessKeyId: keys.accessKeyId });
    const found = await afterBoth(await openStaging('s3://staging/imports', { endpoint: server.endpoint, keys }));
    expect(found).toEqual(left);
    expect([...server.uploads.keys()]).toEqual([]);
  });
});
