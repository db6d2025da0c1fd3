import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isoMicros } from '../../base/clock.ts';
import { dayMs } from '../../base/time.ts';
import { files } from '../../imports/sources/files.ts';
import type { Source, SourceHost, SourcePart } from '../../imports/source.ts';
import type { Staging } from '../../imports/staging.ts';
import { openStaging } from '../../imports/staging/open-staging.ts';
import { readUpload, removeLostPieces, findUpload } from '../../imports/uploads/staged-uploads.ts';
import { createUploadCopies } from '../../imports/uploads/upload-copies.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createOrganization } from '../../stores/metadata/organizations.ts';
import { createProject } from '../../stores/metadata/projects.ts';
import { openSqlite } from '../../stores/metadata/sqlite.ts';
import { makeZip, members } from '../../../test/support/archives.ts';
import { testBucketServer, type TestBucketServer } from '../../../test/support/bucket-server.ts';
import { tempMetadata, type TempMetadata } from '../../../test/support/metadata.ts';
import { createStagedImportFiles } from './staged-import-files.ts';
import type { ImportFiles } from './import-upload-rules.ts';

// Two processes of the service: each has its own connection to the metadata store and to the bucket.
const keys = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' };
let projectId: number;
let store: TempMetadata;
let bucket: TestBucketServer;
let dir: string;
let one: Side;
let other: Side;

interface Side {
  readonly db: Metadata;
  readonly staging: Staging;
  readonly files: ImportFiles;
}

beforeEach(async () => {
  store = await tempMetadata();
  const { id: organizationId } = await createOrganization(store.db, { name: 'o' }, Date.now());
  projectId = (await createProject(store.db, { organizationId, name: 'p' }, Date.now())).id;
  bucket = await testBucketServer({ bucket: 'staging', accessKeyId: keys.accessKeyId });
  dir = await mkdtemp(join(tmpdir(), 'millrace-staged-files-'));
  one = await side();
  other = await side();
});
afterEach(async () => {
  await Promise.all([one.db.destroy(), other.db.destroy()]);
  await bucket[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
  await store[Symbol.asyncDispose]();
});

async function side(): Promise<Side> {
  const db = openSqlite(store.file);
  const staging = await openStaging('s3://staging/imports', { endpoint: bucket.endpoint, keys });
  const limits = { fileBytesMax: 100_000, totalBytesMax: 150_000 };
  return { db, staging, files: createStagedImportFiles({ db, staging, projectId, ...limits }) };
}

async function* chunks(...parts: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* parts;
}

async function contentOf({ db, staging }: Side, name: string): Promise<Buffer> {
  const upload = await findUpload(db, projectId, name);
  if (upload === undefined) throw new Error(`expected ${name} to be there`);
  const found: Buffer[] = [];
  for await (const chunk of readUpload({ db, staging }, upload)) found.push(chunk);
  return Buffer.concat(found);
}

/** Content that waits before its last chunk. */
function halting(first: Buffer, last: Buffer) {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  async function* content(): AsyncGenerator<Buffer> {
    yield first;
    begun.resolve();
    await gate.promise;
    yield last;
  }
  return { content: content(), begun: begun.promise, proceed: gate.resolve, breakOff: gate.reject };
}

describe('uploads in a bucket', () => {
  it('an upload that begins on one process continues on another, and any process reads the complete file', async () => {
    const content = randomBytes(60_000);
    await one.files.write('a.bin', 0, chunks(content.subarray(0, 10_000), content.subarray(10_000, 20_000)));
    const wrong = other.files.write('a.bin', 10_000, chunks(content.subarray(10_000)));
    await expect(wrong).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('start at 20000') });
    await other.files.write('a.bin', 20_000, chunks(content.subarray(20_000, 50_000)));
    const last = await one.files.write('a.bin', 50_000, chunks(content.subarray(50_000)));
    expect(last).toMatchObject({ name: 'a.bin', bytes: 60_000 });
    for (const side of [one, other]) expect((await contentOf(side, 'a.bin')).equals(content)).toBe(true);
    expect(await other.files.list()).toMatchObject([{ name: 'a.bin', bytes: 60_000 }]);
  });

  it('what is replaced or removed leaves nothing in the bucket', async () => {
    await one.files.write('a.bin', 0, chunks(Buffer.from('first')));
    await one.files.write('a.bin', 5, chunks(Buffer.from(' piece')));
    await other.files.write('a.bin', 0, chunks(Buffer.from('next')));
    expect((await contentOf(one, 'a.bin')).toString()).toBe('next');
    expect([...bucket.objects.keys()]).toHaveLength(1);
    expect([await one.files.remove('a.bin'), await other.files.remove('a.bin')]).toEqual([true, false]);
    expect([...bucket.objects.keys()]).toEqual([]);
  });

  it('one request at a time writes a file, whichever process takes it; an upload that breaks off changes nothing', async () => {
    await one.files.write('a.bin', 0, chunks(Buffer.from('before')));
    const broken = halting(randomBytes(100), Buffer.alloc(0));
    const writing = one.files.write('a.bin', 0, broken.content);
    await broken.begun;
    await expect(other.files.write('a.bin', 6, chunks(Buffer.from('x')))).rejects.toMatchObject({ code: 'conflict' });
    await expect(other.files.remove('a.bin')).rejects.toMatchObject({ code: 'conflict' });
    broken.breakOff(new Error('the client left'));
    await expect(writing).rejects.toThrow('the client left');
    expect((await contentOf(other, 'a.bin')).toString()).toBe('before');
    await other.files.write('a.bin', 6, chunks(Buffer.from(' and after')));
    expect((await contentOf(one, 'a.bin')).toString()).toBe('before and after');
  });

  it('a suspended process adds nothing more once another one has the file', async () => {
    await one.files.write('a.bin', 0, chunks(Buffer.from('before')));
    const stopped = halting(Buffer.from(' late'), Buffer.from('r'));
    const writing = one.files.write('a.bin', 6, stopped.content);
    await stopped.begun;
    // As when it stands still for longer than its lease.
    await one.db
      .updateTable('named_leases')
      .set({ lease_until: isoMicros(0) })
      .execute();
    await other.files.write('a.bin', 6, chunks(Buffer.from(' in time')));
    stopped.proceed();
    await expect(writing).rejects.toMatchObject({ code: 'conflict' });
    expect((await contentOf(one, 'a.bin')).toString()).toBe('before in time');
    expect([...bucket.objects.keys()]).toHaveLength(2);
  });

  it('the limits of a project hold for all processes together', async () => {
    const large = randomBytes(90_000);
    const both = await Promise.allSettled(
      [one, other].map(({ files: of }, n) => of.write(`${n}.bin`, 0, chunks(large))),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const tooLarge = one.files.write('c.bin', 0, chunks(large, large));
    await expect(tooLarge).rejects.toMatchObject({ code: 'request_too_large' });
    expect([...bucket.objects.keys()]).toHaveLength(1);
  });

  it('pieces that belong to no file are removed after two days, those of deleted projects at once, others stay', async () => {
    await one.files.write('a.bin', 0, chunks(Buffer.from('kept')));
    const now = Date.now();
    for (const age of [0, 3 * dayMs])
      await one.staging.write(`uploads/${projectId}/${now - age}-lost`, [Buffer.from('x')]);
    await one.staging.write(`uploads/${projectId + 1}/${now}-deleted`, [Buffer.from('xx')]);
    await removeLostPieces(one, now);
    expect((await one.staging.list('uploads/')).map(({ bytes }) => bytes).toSorted()).toEqual([1, 4]);
    await removeLostPieces(one, now + 3 * dayMs);
    expect((await contentOf(one, 'a.bin')).toString()).toBe('kept');
    expect(await one.staging.list('uploads/')).toHaveLength(1);
  });
});

describe('a source of files', () => {
  const open = ({ db, staging }: Side, paths: string, process: string): Source => {
    const copies = createUploadCopies({ db, staging }, { projectId, dir: join(dir, process) });
    return files.createSource({ paths }, { ...host, uploads: copies, tempDir: dir });
  };
  const unused = (): never => {
    throw new Error('expected no connection');
  };
  const host: Omit<SourceHost, 'tempDir'> = { stream: unused, resolve: unused, allowedDirs: [], now: () => Date.now() };
  const { signal } = new AbortController();
  const sleep = async (): Promise<void> => undefined;
  const readPart = async (source: Source, part: SourcePart): Promise<string[]> => {
    const texts: string[] = [];
    for await (const { lines } of source.open(part, { signal, sleep })) texts.push(lines.toString());
    return texts
      .join('')
      .split('\n')
      .filter((line) => line !== '');
  };

  it('reads on one process what another one has listed, including archives, and nothing that was replaced in the meantime', async () => {
    await one.files.write('a.jsonl', 0, chunks(Buffer.from('{"a":1}\n{"a"')));
    await other.files.write('a.jsonl', 12, chunks(Buffer.from(':2}\n')));
    const archive = makeZip(members({ 'b.jsonl': '{"b":1}\n' }));
    await one.files.write('b.zip', 0, chunks(archive));
    const parts = await open(one, 'upload:*', 'one').listParts({}, { signal, sleep });
    expect(parts.map(({ key }) => key)).toEqual(['upload:a.jsonl', 'upload:b.zip']);
    const reader = open(other, 'upload:*', 'other');
    const read = [];
    for (const part of parts) read.push(await readPart(reader, part));
    expect(read).toEqual([['{"a":1}', '{"a":2}'], ['{"b":1}']]);

    await other.files.write('a.jsonl', 0, chunks(Buffer.from('{"c":1}\n')));
    const [changed] = parts;
    if (changed === undefined) throw new Error('expected parts');
    await expect(readPart(reader, changed)).rejects.toThrow('has changed since it was listed');
    await expect(open(one, 'upload:nowhere', 'one').listParts({}, { signal, sleep })).rejects.toThrow('found none');
  });
});
