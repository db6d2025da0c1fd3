import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyHash } from '../../base/ids.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { findPersonalApiKey } from '../../stores/metadata/personal-api-keys.ts';
import { takeFileLock } from '../../stores/metadata/sqlite-lock.ts';
import { exitCodes } from '../exit-codes.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';
import { openCommandStore, type CommandStore } from '../../../test/support/command-store.ts';
import { expiryOf } from './keys.ts';

let store: CommandStore;
let db: Metadata;
let dataDir: string;

beforeAll(async () => {
  store = await openCommandStore();
  ({ db, dataDir } = store);
});
afterAll(() => store[Symbol.asyncDispose]());

const run = (...args: string[]): Promise<Finished> => store.run(...args);

describe('keys, on the data directory while another process has it open', () => {
  it('create prints only the key, which works', async () => {
    const { code, stdout, stderr } = await run('keys', 'create', 'laptop', '--scope', 'plugin:read', 'query:read');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^phx_[A-Za-z0-9]+\n$/);
    expect(stderr).toContain('it is not shown again');
    expect(await findPersonalApiKey(db, keyHash(stdout.trim()))).toMatchObject({
      label: 'laptop',
      scopes: ['plugin:read', 'query:read'],
      scopedProjects: null,
    });
  });

  it('list shows keys without their values; roll and delete work by id', async () => {
    const made = JSON.parse(
      (await run('keys', 'create', 'ci', '--project', '1', '--expires', '30d', '--json')).stdout,
    ) as {
      id: string;
      value: string;
    };
    expect(made).toMatchObject({
      label: 'ci',
      scopes: ['*'],
      scoped_teams: [1],
      expires_at: expect.any(String) as string,
    });
    const listed = await run('keys', 'list');
    expect(listed.stdout).toContain(made.id);
    expect(listed.stdout).not.toContain(made.value);

    const rolled = await run('keys', 'roll', made.id, '--yes');
    expect(await findPersonalApiKey(db, keyHash(made.value))).toBeUndefined();
    expect(await findPersonalApiKey(db, keyHash(rolled.stdout.trim()))).toMatchObject({ id: made.id });

    expect((await run('keys', 'delete', made.id)).code).toBe(exitCodes.usage.code);
    expect((await run('keys', 'delete', made.id, '--yes')).code).toBe(0);
    expect((await run('keys', 'delete', made.id, '--yes')).code).toBe(exitCodes.notFound.code);
    const log = db.selectFrom('activity_log').select(['activity', 'is_system']).where('item_id', '=', made.id);
    expect((await log.orderBy('id').execute()).map(({ activity, is_system }) => [activity, is_system])).toEqual([
      ['created', 1],
      ['rolled', 1],
      ['deleted', 1],
    ]);
  });

  it.each([
    [['--scope', 'plugin:fly'], 'scopes: Invalid scope: plugin:fly'],
    [['x'.repeat(41)], 'label: Ensure this field has no more than 40 characters'],
    [['--expires', 'soon'], '--expires: expected a future time'],
    [['--project', 'mine'], '--project: expected the number of a project'],
  ])('create %j is refused with a message', async (args, expected) => {
    const { code, stderr } = await run('keys', 'create', ...args);
    expect(stderr).toContain(expected);
    expect(code).toBe(exitCodes.usage.code);
  });

  it('an unknown project gets no key', async () => {
    const { code, stdout, stderr } = await run('keys', 'create', 'later', '--project', '1', '77');
    expect([code, stdout]).toEqual([exitCodes.notFound.code, '']);
    expect(stderr).toContain('--project: no project 77; "millrace projects list" shows them');
    expect((await run('keys', 'list')).stdout).not.toContain('later');
  });

  it('a directory without a store gets none', async () => {
    const { code, stderr } = await runCommand(['keys', 'list', '--data-dir', `${dataDir}/elsewhere`]);
    expect(stderr).toContain('run "millrace serve" once');
    expect(code).toBe(exitCodes.notFound.code);
  });
});

describe('projects', () => {
  it('create, list, rotate and delete', async () => {
    const made = JSON.parse(
      (await run('projects', 'create', 'Shop', '--timezone', 'Europe/Paris', '--json')).stdout,
    ) as {
      id: number;
      api_token: string;
    };
    expect(made).toMatchObject({ name: 'Shop', timezone: 'Europe/Paris' });
    const rotated = JSON.parse((await run('projects', 'rotate-token', String(made.id), '--yes', '--json')).stdout) as {
      api_token: string;
    };
    expect(rotated.api_token).toMatch(/^phc_/);
    expect(rotated.api_token).not.toBe(made.api_token);
    expect((await run('projects', 'list')).stdout).toContain(rotated.api_token);
    expect((await run('projects', 'delete', String(made.id), '--yes')).stderr).toContain('deleted project');
    expect((await run('projects', 'list')).stdout).not.toContain('Shop');
    expect((await run('projects', 'delete', String(made.id), '--yes')).code).toBe(exitCodes.notFound.code);
    const log = db.selectFrom('activity_log').select(['activity', 'name']).where('scope', '=', 'Project');
    expect((await log.execute()).map(({ activity, name }) => `${activity} ${name}`)).toEqual(['deleted Shop']);
  });

  it('an unknown time zone is refused', async () => {
    const { code, stderr } = await run('projects', 'create', 'x', '--timezone', 'Mars/Olympus');
    expect(stderr).toContain('Expected an IANA time zone');
    expect(code).toBe(exitCodes.usage.code);
  });
});

describe('doctor', () => {
  it('reports the state of each component, and changes nothing', async () => {
    const { code, stdout } = await run('doctor', '--output', 'json', '--port', '0');
    expect(code).toBe(0);
    const findings = JSON.parse(stdout) as { code: string; state: string; detail: string }[];
    expect(findings.map((finding) => finding.code)).toEqual(
      expect.arrayContaining(['node_version', 'free_disk', 'metadata_schema', 'embedded_engine']),
    );
    expect(findings.find((finding) => finding.code === 'metadata_schema')?.detail).toMatch(/schema \d+ of \d+/);
  });

  it('reports damaged requests, which no key may read, until they are discarded', async () => {
    const letter = { id: 'rotten', project_id: 0, lane: 'live', reason: 'damaged_log_record', detail: 'checksum' };
    const nothing = { attr: null, event: null, distinct_id: null, event_uuid: null, decided_at: null };
    const received_at = '2026-11-20T10:00:00.000000Z';
    await db
      .insertInto('dead_letters')
      .values({ ...letter, ...nothing, received_at, original: Uint8Array.of(1), rows_stored: 0, state: 'open' })
      .execute();
    const place = `table dead_letters of ${join(dataDir, 'metadata.sqlite')}, project_id 0`;
    const warned = await run('doctor', '--port', '0');
    expect([warned.code, warned.stdout]).toEqual([
      0,
      expect.stringContaining(`1 set aside without a project: ${place}`),
    ]);
    await db.updateTable('dead_letters').set({ state: 'discarded' }).execute();
    expect((await run('doctor', '--port', '0')).stdout).toMatch(/ok\s+damaged_requests\s+none set aside/);
  });

  it('of a data directory does not report the service of MILLRACE_URL', async () => {
    const elsewhere = createServer((_, response) => response.end('{"checks":{}}')).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const { port } = elsewhere.address() as AddressInfo;
    const env = { MILLRACE_URL: `http://127.0.0.1:${port}` };
    try {
      const place = await runCommand(['doctor', '--port', '0', '--data-dir', dataDir], { env });
      expect(place.stdout).toMatch(/ok\s+service_running\s+none is running on this data directory/);
      expect(place.stdout).not.toContain(env.MILLRACE_URL);
      using _lock = takeFileLock(join(dataDir, 'lock.sqlite'));
      const used = await runCommand(['doctor', '--port', '1', '--data-dir', dataDir], { env });
      expect(used.stdout).toMatch(
        /warning\s+service_running\s+a process uses the data directory, and no service responds at/,
      );
      const other = await runCommand(['doctor', '--data-dir', dataDir, '--url', env.MILLRACE_URL]);
      expect(other.stdout).toContain(`running at ${env.MILLRACE_URL}`);
    } finally {
      elsewhere.close();
    }
  });

  it('names the failed checks and ends with code 1', async () => {
    const { code, stdout, stderr } = await runCommand(['doctor', '--port', '0'], {
      env: { MILLRACE_DATA_DIR: dataDir, CLICKHOUSE_URL: 'http://me:hunter2@127.0.0.1:9/db' },
    });
    expect(stdout).toMatch(
      /failed\s+clickhouse_reachable\s+cannot use ClickHouse at http:\/\/127\.0\.0\.1:9.*\n\s+Correct CLICKHOUSE_URL/,
    );
    expect(stderr).toMatch(/1 of \d+ checks failed: clickhouse_reachable/);
    expect(stdout + stderr).not.toContain('hunter2');
    expect(code).toBe(exitCodes.failed.code);
  });
});

describe('--expires', () => {
  const now = Date.parse('2026-11-20T00:00:00Z');
  it.each([
    ['2d', '2026-11-22T00:00:00.000000Z'],
    ['2027-01-31', '2027-01-31T00:00:00.000000Z'],
  ])('%s', (text, expected) => {
    expect(expiryOf(text, now)).toBe(expected);
  });
});
