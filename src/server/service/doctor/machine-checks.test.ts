import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { mayMount, smallDisk } from '../../../../test/support/small-disk.ts';
import { testBucketServer } from '../../../../test/support/bucket-server.ts';
import { migrate, schemaVersion } from '../../../stores/metadata/migrate.ts';
import { openSqlite } from '../../../stores/metadata/sqlite.ts';
import { diagnose } from './doctor.fixture.ts';
import { embeddedLibrary, machinePart } from './machine-checks.ts';
import { metadataPart } from './metadata-checks.ts';
import { servicePart } from './service-checks.ts';
import { storagePart } from './storage-checks.ts';

let dir: string;
beforeAll(() => (dir = mkdtempSync(join(tmpdir(), 'doctor-machine-'))));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('checks of the machine', () => {
  it('find nothing on a machine that suits', async () => {
    const { faults } = await diagnose({ MILLRACE_DATA_DIR: join(dir, 'new') }, [
      machinePart,
      metadataPart,
      storagePart,
    ]);
    expect(faults()).toEqual([]);
  });

  it('a data directory that is not one is found', async () => {
    const file = join(dir, 'a file');
    writeFileSync(file, '');
    const { faults } = await diagnose({ MILLRACE_DATA_DIR: join(file, 'data') }, [machinePart, storagePart]);
    expect(faults('data_directory')).toMatchObject([
      { state: 'failed', detail: expect.stringContaining('a file is not a directory') },
    ]);
  });

  it.skipIf(!mayMount)('a disk that is nearly full is found', async () => {
    const small = join(dir, 'small');
    using _disk = smallDisk(small, 100);
    expect((await diagnose({ MILLRACE_DATA_DIR: small }, [machinePart])).faults('free_disk')).toMatchObject([
      { state: 'failed', detail: '0.1 GiB free', advice: expect.stringContaining('503') },
    ]);
    const larger = join(dir, 'larger');
    using _other = smallDisk(larger, 600);
    expect((await diagnose({ MILLRACE_DATA_DIR: larger }, [machinePart])).faults('free_disk')).toMatchObject([
      { state: 'warning', detail: '0.6 GiB free' },
    ]);
  });

  it('settings that permit more memory than there is are found', async () => {
    const { faults } = await diagnose({ MILLRACE_STORE_MEMORY_BYTES_MAX: String(900 * 1024 ** 3) }, [machinePart]);
    expect(faults('memory')).toMatchObject([
      { state: 'warning', detail: expect.stringMatching(/at least 90\d\.\d GiB .*store 900\.0 GiB/) },
    ]);
  });

  it('an old Node and a missing engine are found', async () => {
    vi.stubGlobal('process', { ...process, versions: { node: '20.11.0' }, constrainedMemory: () => 0 });
    const { faults } = await diagnose({}, [machinePart]);
    expect(faults('node_version')).toMatchObject([
      { state: 'failed', detail: 'expected Node 24 or newer, got 20.11.0' },
    ]);
    vi.unstubAllGlobals();
    expect(embeddedLibrary('sunos', 'sparc')).toEqual(['@chdb/lib-sunos-sparc is not installed']);
    expect((await diagnose({}, [machinePart])).faults('embedded_engine')).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('a low limit of open files is found, by the command', () => {
    const bin = fileURLToPath(new URL('../../../../bin/millrace.js', import.meta.url));
    const command = `ulimit -n 512; exec "$0" "$1" doctor --json --port 0 --data-dir "$2"`;
    const out = execFileSync('bash', ['-c', command, process.execPath, bin, join(dir, 'new')], {
      encoding: 'utf8',
      // Without settings of other tests, such as servers.
      env: { PATH: process.env['PATH'] },
    });
    const found = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { code: string; state: string });
    expect(found.find(({ code }) => code === 'file_descriptors')).toMatchObject({
      state: 'warning',
      detail: 'expected at least 4096, got 512',
      advice: expect.stringContaining('LimitNOFILE'),
    });
  });
});

describe('checks of the metadata in files', () => {
  it('a newer schema and damaged requests are found', async () => {
    const env = { MILLRACE_DATA_DIR: dir };
    const db = openSqlite(join(dir, 'metadata.sqlite'));
    try {
      await migrate(db, 'sqlite');
      expect((await diagnose(env, [metadataPart])).faults()).toEqual([]);
      const none = { attr: null, event: null, distinct_id: null, event_uuid: null, decided_at: null };
      const letter = { id: 'rotten', project_id: 0, lane: 'live', reason: 'damaged_log_record', detail: 'checksum' };
      const received = { received_at: '2026-11-20T10:00:00.000000Z', original: Buffer.from('?'), state: 'open' };
      await db
        .insertInto('dead_letters')
        .values({ ...letter, ...none, ...received } as never)
        .execute();
      expect((await diagnose(env, [metadataPart])).faults('damaged_requests')).toMatchObject([
        {
          state: 'warning',
          detail: expect.stringContaining('1 set aside'),
          advice: expect.stringContaining('operations'),
        },
      ]);
      await sql`insert into schema_version (version, name, applied_at) values (${schemaVersion + 1}, 'new', '')`.execute(
        db,
      );
      expect((await diagnose(env, [metadataPart])).faults('metadata_schema')).toMatchObject([
        { state: 'failed', detail: expect.stringContaining(`got version ${schemaVersion + 1}`) },
      ]);
    } finally {
      await db.destroy();
    }
  });
});

describe('checks of the files of imports', () => {
  const envOf = (endpoint: string, more: Record<string, string> = {}) => ({
    MILLRACE_IMPORT_STAGING: 's3://events/staging',
    MILLRACE_IMPORT_STAGING_ENDPOINT: endpoint,
    MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    MILLRACE_IMPORT_STAGING_SECRET_ACCESS_KEY: 'not-to-be-seen',
    ...more,
  });

  it('a bucket that can be written has no finding, and nothing is written to it', async () => {
    await using server = await testBucketServer({ bucket: 'events', accessKeyId: 'AKIDEXAMPLE' });
    expect((await diagnose(envOf(server.endpoint), [storagePart])).faults()).toEqual([]);
    expect([...server.objects.keys()]).toEqual([]);
    expect(server.seen.some((each) => each.startsWith('PUT '))).toBe(true);
  });

  it.each<[string, object, Record<string, string>, RegExp]>([
    ['a bucket that is read-only', { isReadOnly: true }, {}, /refused with 403 AccessDenied/],
    ['a wrong key', {}, { MILLRACE_IMPORT_STAGING_ACCESS_KEY_ID: 'AKIDOTHER' }, /403 InvalidAccessKeyId/],
    ['another bucket', {}, { MILLRACE_IMPORT_STAGING: 's3://other' }, /404 NoSuchBucket/],
    ['no server', {}, { MILLRACE_IMPORT_STAGING_ENDPOINT: 'http://127.0.0.1:9' }, /cannot be reached/],
  ])('%s is found', async (_, options, more, detail) => {
    await using server = await testBucketServer({ bucket: 'events', accessKeyId: 'AKIDEXAMPLE', ...options });
    const { findings, faults } = await diagnose(envOf(server.endpoint, more), [storagePart]);
    expect(faults('import_storage')).toMatchObject([{ state: 'failed', detail: expect.stringMatching(detail) }]);
    expect(JSON.stringify(findings)).not.toContain('not-to-be-seen');
    expect(server.objects.size).toBe(0);
  });
});

describe('checks of the service', () => {
  async function listening(answer: (url: string) => readonly [number, unknown]): Promise<Server> {
    const server = createServer(({ url = '' }, response) => {
      const [status, body] = answer(url);
      response.writeHead(status).end(JSON.stringify(body));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return server;
  }
  const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  it('a working service has no finding; a failing component, another program and a wrong public address are found', async () => {
    let pipeline: object = { ok: true };
    const answers = (url: string): readonly [number, unknown] =>
      url === '/livez' ? [200, { status: 'ok' }] : [200, { checks: { pipeline, imports: { ok: true } } }];
    const service = await listening(answers);
    const other = await listening(() => [404, { error: 'не найдено' }]);
    const port = String((service.address() as AddressInfo).port);
    const place = { url: urlOf(service), isElsewhere: false, isInUse: undefined };
    try {
      const env = { MILLRACE_PORT: port, MILLRACE_SITE_URL: urlOf(service) };
      expect((await diagnose(env, [servicePart], place)).faults()).toEqual([]);
      pipeline = { ok: false, detail: 'slots without an owner' };
      expect((await diagnose(env, [servicePart], place)).faults('service_ready')).toMatchObject([
        { state: 'failed', detail: 'pipeline: slots without an owner' },
      ]);
      pipeline = { ok: false, optional: true };
      expect((await diagnose(env, [servicePart], place)).faults('service_ready')).toMatchObject([{ state: 'warning' }]);
      const wrong = { ...env, MILLRACE_SITE_URL: urlOf(other) };
      expect((await diagnose(wrong, [servicePart], place)).faults('service_public_url')).toMatchObject([
        { state: 'warning', detail: expect.stringContaining('answered by another program (404)') },
      ]);
      const away = { ...env, MILLRACE_SITE_URL: 'http://127.0.0.1:9' };
      expect((await diagnose(away, [servicePart], place)).faults('service_public_url')).toHaveLength(1);
      const taken = { MILLRACE_PORT: String((other.address() as AddressInfo).port) };
      const elsewhere = { url: urlOf(other), isElsewhere: false, isInUse: true };
      const { faults } = await diagnose(taken, [servicePart], elsewhere);
      expect(faults('service_port')).toMatchObject([
        { state: 'failed', detail: expect.stringContaining('another program') },
      ]);
      expect(faults('service_running')).toMatchObject([
        { state: 'warning', detail: expect.stringContaining('no service responds') },
      ]);
    } finally {
      service.close();
      other.close();
    }
  });
});
