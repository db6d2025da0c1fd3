/** The everyday commands against a running service, with the real program. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { exitCodes } from '../../src/cli/exit-codes.ts';
import { commandTree } from '../support/command-tree.ts';
import { spawnCommand, type Finished } from '../support/command.ts';
import { personalKey, projectKey, startServer, tempDataDir, untilStored, type TestServer } from '../support/server.ts';

let server: TestServer;
let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
/** Of all scopes, with the one that is only granted by name. */
let key: string;

beforeAll(async () => {
  dataDir = await tempDataDir();
  server = await startServer(dataDir.path, { MILLRACE_HISTORICAL_AGREEMENT: 'required' });
  const batch = [
    { event: 'seen', distinct_id: 'ada', properties: { $set: { email: 'ada@example.com', plan: 'team' } } },
    {
      event: '$groupidentify',
      distinct_id: 'ada',
      properties: { $group_type: 'company', $group_key: 'acme', $group_set: { size: 3 } },
    },
    { event: 'seen', distinct_id: '' },
    { event: 'seen', distinct_id: 'bob', timestamp: 'yesterday' },
  ];
  await send(batch);
  await untilStored(server, { standard: 3, historical: 0 });
  const create = ['keys', 'create', 'everyday', '--scope', '*', 'erasure:read', '--data-dir', dataDir.path];
  key = (await spawnCommand(create, { env: {} })).stdout.trim();
});
afterAll(async () => {
  await server.terminate();
  await dataDir[Symbol.asyncDispose]();
});

async function send(batch: readonly object[]): Promise<void> {
  const body = JSON.stringify({ api_key: projectKey, batch });
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}/batch/`, { method: 'POST', headers, body });
  if (answer.status !== 200) throw new Error(`expected 200, got ${answer.status}`);
}

const run = (...args: readonly string[]): Promise<Finished> =>
  spawnCommand(args, { env: { MILLRACE_URL: server.url, MILLRACE_API_KEY: key } });

async function shown(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
  return stdout;
}

async function records<Item>(...args: readonly string[]): Promise<readonly Item[]> {
  return JSON.parse(await shown(...args, '--output', 'json')) as Item[];
}

describe('lists', () => {
  it('are tables; with --json one object per line, with --output one array or YAML', async () => {
    expect(await shown('persons', 'list')).toMatch(/^UUID +NAME +IDENTIFIED/);
    const lines = (await shown('persons', 'list', '--json')).trim().split('\n');
    expect(lines).toHaveLength(2);
    const found = lines.map((line) => JSON.parse(line) as { uuid: string });
    expect(await records('persons', 'list')).toEqual(found);
    expect(await shown('persons', 'list', '--output', 'yaml')).toMatch(new RegExp(`^- id: ${found[0]?.uuid}`));
    expect(await records('persons', 'list', '--limit', '1')).toEqual(found.slice(0, 1));
  });
});

/** What a list is of, where it has to be said. */
const listOf: Readonly<Record<string, readonly string[]>> = { 'groups list': ['company'] };

const lists = [...(await commandTree())].filter(([path]) => path.endsWith(' list'));

describe('every list', () => {
  it.each(lists)('%s is the same in lines, as one array and as YAML, and as a table', async (path, command) => {
    const own = command.options.some(({ long }) => long === '--data-dir') ? ['--data-dir', dataDir.path] : [];
    const words = [...path.split(' '), ...(listOf[path] ?? []), ...own];
    const array = JSON.parse(await shown(...words, '--output', 'json')) as unknown[];
    const lines = await shown(...words, '--json');
    expect(
      lines
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(array);
    expect(await shown(...words, '--output', 'ndjson')).toBe(lines);
    expect(parseYaml(await shown(...words, '--output', 'yaml'))).toEqual(array);
    expect(await shown(...words)).toMatch(/\S/);
  });
});

describe('persons and groups', () => {
  it('are found by ids, names and addresses', async () => {
    expect(await shown('persons', 'show', 'ada')).toMatch(/properties\.plan +team/);
    const [ada] = await records<{ uuid: string }>('persons', 'list', '--email', 'ada@example.com');
    expect(await shown('persons', 'show', ada?.uuid ?? '')).toMatch(/distinct_id 1 +ada/);
    expect(await shown('groups', 'types')).toMatch(/0 +company/);
    expect(await shown('groups', 'list', 'company')).toMatch(/acme .*"size":3/);
    expect(await shown('groups', 'show', '0', 'acme')).toMatch(/properties\.size +3/);
  });

  it('show how the ids of a person were merged', async () => {
    const now = Date.now();
    // A second apart, so that their order is theirs.
    const merging = (secondsAgo: number, event: string, properties: object): object => {
      return { event, distinct_id: 'cat', properties, timestamp: new Date(now - secondsAgo * 1000).toISOString() };
    };
    await send([
      merging(3, '$identify', { $anon_distinct_id: 'anon-1' }),
      merging(2, '$create_alias', { alias: 'cat@work' }),
      merging(1, '$create_alias', { alias: 'null' }),
    ]);
    await untilStored(server, { standard: 6, historical: 0 });
    const merges = await records<Record<string, unknown>>('persons', 'merge-history', 'cat@work');
    expect(merges.map((each) => [each['event'], each['other_distinct_id'], each['is_merged']])).toEqual([
      ['$identify', 'anon-1', true],
      ['$create_alias', 'cat@work', true],
      ['$create_alias', 'null', false],
    ]);
    expect(await shown('persons', 'merge-history', 'ada')).toMatch(/^TIME +EVENT/);
  });

  it('an unknown person is reported with advice', async () => {
    const unknown = await run('persons', 'show', 'unknown-id');
    expect([unknown.code, unknown.stderr]).toEqual([
      exitCodes.notFound.code,
      expect.stringContaining('no person has the distinct_id "unknown-id"'),
    ]);
    expect((await run('groups', 'list', 'team')).stderr).toContain('known types: company');
  });
});

describe('dead letters', () => {
  it('are counted, shown, corrected, and discarded only by a selection', async () => {
    expect(await shown('dead-letters', 'counts')).toMatch(/missing_distinct_id +1 /);
    const [letter] = await records<{ id: string }>('dead-letters', 'list', '--reason', 'missing_distinct_id');
    const id = letter?.id ?? '';
    expect(JSON.parse(await shown('dead-letters', 'show', id, '--original'))).toMatchObject({ event: 'seen' });
    const file = join(dataDir.path, 'corrected.json');
    await writeFile(file, JSON.stringify({ event: 'seen', distinct_id: 'eve' }));

    const dry = await run('dead-letters', 'replay', id, '--dry-run', '--json');
    expect(JSON.parse(dry.stdout)).toMatchObject({ matched: 1, failed: [{ id }] });
    expect(dry.code).toBe(exitCodes.rejected.code);
    expect((await run('dead-letters', 'replay', id)).code).toBe(exitCodes.rejected.code);
    const edit = (editor: string): Promise<Finished> =>
      spawnCommand(['dead-letters', 'edit', id], {
        env: { MILLRACE_URL: server.url, MILLRACE_API_KEY: personalKey, EDITOR: editor },
      });
    expect((await edit('true')).stderr).toContain('nothing was changed');
    expect(await edit('false')).toMatchObject({ code: exitCodes.failed.code });
    const broken = await edit('echo nonsense >');
    const [, kept = ''] = /kept in (\S+)/.exec(broken.stderr) ?? [];
    expect([broken.code, await readFile(kept, 'utf8')]).toEqual([exitCodes.usage.code, 'nonsense\n']);
    await rm(dirname(kept), { recursive: true });
    expect((await edit(`cp ${file}`)).code).toBe(0);
    await untilStored(server, { standard: 7, historical: 0 });
    expect(await records('dead-letters', 'list')).toEqual([]);
    expect(await records('dead-letters', 'list', '--state', 'replayed')).toHaveLength(1);

    for (const [args, sentence] of [
      [['discard'], 'expected ids, a filter such as --reason, or --all'],
      [['discard', id, '--all', '--yes'], 'not several of them'],
      [['discard', '--all'], 'Add --yes'],
      [['replay', '--all', '--corrected', '{}'], 'expected one dead letter'],
    ] as const) {
      const { code, stderr } = await run('dead-letters', ...args);
      expect([code, stderr]).toEqual([exitCodes.usage.code, expect.stringContaining(sentence)]);
    }
    expect(await shown('dead-letters', 'discard', '--all', '--yes')).toBe('0 match, 0 discarded\n');
  });
});

describe('what happened', () => {
  it('warnings, usage, status and activity', async () => {
    expect(await shown('warnings', 'list')).toMatch(/ignored_invalid_timestamp +warning +1 /);
    expect(await shown('warnings', 'show', 'ignored_invalid_timestamp')).toContain('bob');
    expect(await shown('usage')).toMatch(/total +\d +0\n$/);
    expect(await shown('status')).toMatch(/^status: ok\nLANE +IN/);
    expect(await shown('status', '--service')).toMatch(/event_store +ok/);
    const top = await shown('top', '--times', '2', '--every', '1');
    expect(top.match(/^status: ok$/gm)).toHaveLength(2);
    expect(await shown('activity', '--scope', 'DeadLetter')).toMatch(/replay/);
  });
});

describe('configs', () => {
  it('are found by their number alone, shown, tested, and restored to an earlier state', async () => {
    const settings = JSON.stringify({ events: 'noise' });
    const [made] = [
      JSON.parse(
        await shown('configs', 'create', '--plugin', 'drop-events', '--settings', settings, '--enabled', '--json'),
      ),
    ] as { id: number; enabled: boolean }[];
    const id = String(made?.id);
    expect(made?.enabled).toBe(true);
    expect(await shown('configs', 'show', id)).toMatch(/settings\.events +noise/);
    const noise = JSON.stringify({ event: 'noise', distinct_id: 'x' });
    expect(await shown('configs', 'test', id, '--event', noise)).toContain('dropped');
    expect(await shown('configs', 'test', id, '--name', 'seen')).toContain('unchanged');
    const before = new Date().toISOString();
    await shown('configs', 'update', id, '--settings', JSON.stringify({ events: 'other' }), '--name', 'Drop');
    expect(await shown('configs', 'activity', id)).toMatch(/settings\.events/);
    await shown('configs', 'restore', id, '--at', before, '--dry-run');
    expect(await shown('configs', 'show', id)).toMatch(/settings\.events +other/);
    await shown('configs', 'restore', id, '--at', before, '--yes');
    expect(await shown('configs', 'show', id)).toMatch(/settings\.events +noise/);
    expect(await shown('configs', 'metrics', id)).toMatch(/total +0 +0/);
    expect(await shown('configs', 'errors', id)).toMatch(/^LAST SEEN/);
    expect(await records('configs', 'logs', id)).toEqual([]);
    expect(await records('configs', 'jobs', id)).toEqual([]);
    expect(await shown('configs', 'list')).toMatch(/FAMILY[^]*transformations +0/);
    await shown('configs', 'delete', id, '--yes');
    expect((await run('configs', 'show', id)).code).toBe(exitCodes.notFound.code);
  });

  it('one with refused settings is not created', async () => {
    const before = await records('configs', 'list');
    const refused = await run(
      'configs',
      'create',
      '--plugin',
      'drop-events',
      '--settings',
      '{"evnts":"x"}',
      '--enabled',
    );
    expect([refused.code, refused.stderr]).toEqual([
      exitCodes.failed.code,
      expect.stringMatching(/no config was created: .*evnts/),
    ]);
    expect(await records('configs', 'list')).toEqual(before);
  });
});

describe('imports of a service', () => {
  it('files are uploaded, runs of all projects are listed, agreements are filed and approved', async () => {
    const file = join(dataDir.path, 'history.ndjson');
    const event = {
      event: 'old',
      distinct_id: 'ada',
      timestamp: '2024-01-02T03:04:05Z',
      uuid: '0191d5f0-0000-7000-8000-000000000001',
    };
    await writeFile(file, `${JSON.stringify(event)}\n`);
    expect(await shown('import', 'upload', file)).toBe('upload:history.ndjson\n');
    expect(await shown('import', 'upload', file, '--resume')).toBe('upload:history.ndjson\n');
    expect((await run('import', 'upload', `${file}.not`)).code).toBe(exitCodes.notFound.code);

    const words = ['--source', 'old tool', '--method', 'import app', '--events', '1000', '--speed', '100'];
    const filed = JSON.parse(await shown('agreements', 'file', ...words, '--json')) as { id: string };
    expect(await shown('agreements', 'approve', filed.id)).toMatch(/approved/);
    expect(await records('agreements', 'list', '--state', 'approved')).toHaveLength(1);

    const settings = JSON.stringify({ paths: 'upload:history.ndjson', format: 'posthog' });
    const config = JSON.parse(
      await shown('configs', 'create', '--plugin', 'files', '--settings', settings, '--json'),
    ) as { id: number };
    await shown('import', 'start', '--config', String(config.id), '--watch');
    const runs = await records<{ project_id: number; state: string; totals: { loaded: number } }>('runs');
    expect(runs).toMatchObject([{ project_id: 1, state: 'completed', totals: { loaded: 1 } }]);
    expect(await shown('runs', '--state', 'failed')).toMatch(/^RUN +PROJECT/);
    expect(await shown('configs', 'jobs', String(config.id))).toMatch(/^CREATED/);
    // The app does not look idle. Both are written a moment after what they tell.
    const told = (what: string): Promise<string> => shown('configs', what, String(config.id));
    await expect.poll(() => told('metrics')).toMatch(/total +1 +0 /);
    await expect.poll(() => told('logs')).toMatch(/completed: 1 record, 0 rejected, 1 event loaded/);
    expect(await shown('configs', 'list', '--family', 'import-apps')).toMatch(/no +100 % +-\n/);
  });
});
