import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PreflightResult } from '../../src/wire/contract/import-preflight.ts';
import { exitCodes, type ExitReason } from '../../src/cli/exit-codes.ts';
import { testBucketServer } from '../support/bucket-server.ts';
import { openCommandShell } from '../support/command-shell.ts';
import { spawnCommand } from '../support/command.ts';
import { mixpanelLines } from '../support/import-command.ts';
import {
  apiGet,
  freePort,
  personalKey,
  projectKey,
  startServer,
  tempDataDir,
  type CountsAnswer,
  type TestServer,
} from '../support/server.ts';
import { mayMount, smallDisk } from '../support/small-disk.ts';

/** Everything a row may need; one service for all of them. */
interface Scene extends AsyncDisposable {
  readonly server: TestServer;
  readonly dir: string;
  readonly file: string;
  /** Personal keys with too few scopes, and one of another project. */
  readonly keys: Readonly<Record<'noQuery' | 'noProject' | 'otherProject', string>>;
  /** Addresses where something else is. */
  readonly urls: Readonly<Record<'closed' | 'silent' | 'page' | 'moved' | 'lateClock' | 'bucket', string>>;
}

let scene: Scene;

beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene[Symbol.asyncDispose]());

async function openScene(): Promise<Scene> {
  await using opened = new AsyncDisposableStack();
  const { path: dir } = opened.use(await tempDataDir());
  const allowed = join(dir, 'allowed');
  await mkdir(allowed);
  const server = await startServer(join(dir, 'data'), {
    MILLRACE_HISTORICAL_AGREEMENT: 'required',
    MILLRACE_IMPORT_DISK_BUDGET: '4000',
    MILLRACE_IMPORT_DIRS: allowed,
    ...patience,
  });
  opened.defer(() => server.kill());
  const file = join(allowed, 'export.ndjson');
  await writeFile(file, `${mixpanelLines(500).join('\n')}\n`);
  const listen = async (answer: RequestListener): Promise<string> => {
    const other = createServer(answer);
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    opened.defer(async () => {
      other.closeAllConnections();
      await new Promise((resolve) => other.close(resolve));
    });
    return `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  };
  const bucket = opened.use(await testBucketServer({ bucket: 'exports', accessKeyId: 'AKIDRIGHT' }));
  const urls = {
    closed: `http://127.0.0.1:${await freePort()}`,
    silent: await listen(() => undefined),
    page: await listen((_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')),
    moved: await listen((_request, response) => response.writeHead(308, { location: 'https://new.example/' }).end()),
    lateClock: await listen((request, response) => {
      const date = new Date(Date.now() - 3_600_000).toUTCString();
      response.sendDate = false;
      response.writeHead(request.url === '/batch/' ? 400 : 404, { date }).end('{"detail":"no event"}');
    }),
    bucket: bucket.endpoint,
  };
  const keys = await makeKeys(server);
  const owned = opened.move();
  return { server, dir, file, keys, urls, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function makeKeys(server: TestServer): Promise<Scene['keys']> {
  const make = async (body: object): Promise<string> =>
    String((await post<{ value: string }>(server, '/api/personal_api_keys/', body)).value);
  const { id } = await post<{ id: number }>(server, '/api/projects/', { name: 'Other' });
  return {
    noQuery: await make({ label: 'a', scopes: ['project:read'] }),
    noProject: await make({ label: 'b', scopes: ['query:read'] }),
    otherProject: await make({ label: 'c', scopes: ['*'], scoped_teams: [id] }),
  };
}

async function post<T>({ url }: TestServer, path: string, body: object, status = 2): Promise<T> {
  const headers = { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  expect([Math.floor(response.status / 100), text]).toEqual([status, text]);
  return JSON.parse(text) as T;
}

/** A wrong set-up: what is wrong, as words of the command; what is found, what it says, what it advises, how it ends. */
interface Row {
  readonly args: (scene: Scene) => readonly string[] | Promise<readonly string[]>;
  readonly code: string;
  readonly says: RegExp;
  readonly advises?: RegExp;
  readonly ends?: ExitReason;
}

/** What is there is found however busy the machine is. */
const patience = { MILLRACE_IMPORT_PREFLIGHT_MS: '30000' };
/** As long as a person waits. */
const impatient = ({ args, ...row }: Row): Row => ({
  ...row,
  args: async (on) => [...(await args(on)), '--preflight-ms', '2500'],
});

const own = ({ server }: Scene): string[] => ['--to', server.url];
const keyed = (scene: Scene): string[] => [...own(scene), '--project-key', projectKey];
const whole = (scene: Scene): string[] => [...keyed(scene), '--api-key', personalKey];
const below = (path: string): Row => ({
  args: (on) => ['mixpanel', on.file, '--to', on.server.url + path, '--project-key', projectKey],
  code: 'target_base_path',
  says: /Expected an address below which \/batch\/ accepts events/,
  advises: /Set --to to http:\/\/127\.0\.0\.1:\d+/,
});
const elsewhere = (to: keyof Scene['urls'], row: Omit<Row, 'args'>): Row => ({
  ...row,
  args: (on) => ['mixpanel', on.file, '--to', on.urls[to], '--project-key', projectKey],
});
const withKey = (key: (on: Scene) => string, row: Omit<Row, 'args' | 'ends'>): Row => ({
  ...row,
  args: (on) => ['mixpanel', on.file, ...keyed(on), '--api-key', key(on)],
  ends: 'auth',
});
const from = (args: (on: Scene) => readonly string[] | Promise<readonly string[]>, row: Omit<Row, 'args'>): Row => ({
  ...row,
  args: async (on) => [...(await args(on)), ...whole(on)],
});
const written = async ({ dir }: Scene, name: string, text: string | Buffer): Promise<string> => {
  const path = join(dir, name);
  await writeFile(path, text);
  return path;
};
const s3 = (id: string, prefix: string) => (on: Scene) => {
  const settings = [`endpoint=${on.urls.bucket}`, `access_key_id=${id}`, 'secret_access_key=secret'];
  return ['mixpanel', `s3://exports/${prefix}`, ...settings.flatMap((each) => ['--setting', each])];
};

const rows: Readonly<Record<string, Row>> = {
  'a wrong project key': {
    args: (on) => ['mixpanel', on.file, ...own(on), '--project-key', 'phc_wrong'],
    code: 'project_key_unknown',
    says: /does not know the project key/,
    advises: /--project-key: "millrace projects list" shows it/,
    ends: 'auth',
  },
  'a wrong personal key': withKey(() => 'phx_wrong', {
    code: 'personal_key_refused',
    says: /refuses the personal API key/,
    advises: /--api-key: "millrace keys create --scope query:read project:read" creates one/,
  }),
  'a personal key that may not read events': withKey((on) => on.keys.noQuery, {
    code: 'personal_key_scope',
    says: /cannot read stored events.*query:read/,
  }),
  'a personal key that may not read projects': withKey((on) => on.keys.noProject, {
    code: 'personal_key_scope',
    says: /cannot read stored events.*project:read/,
  }),
  'a personal key of another project': withKey((on) => on.keys.otherProject, {
    code: 'personal_key_project',
    says: /cannot access the project/,
    advises: /--project-key and --api-key of the same project/,
  }),
  'the address of the API': below('/api'),
  'the address of a project': below('/api/projects/1'),
  'the address of another endpoint': below('/i/v0/e'),
  'nothing at the address': elsewhere('closed', {
    code: 'target_unreachable',
    says: /cannot be reached \(ECONNREFUSED\)/,
    advises: /Start it, or correct --to/,
    ends: 'unreachable',
  }),
  'a target that never answers': impatient(
    elsewhere('silent', { code: 'target_unreachable', says: /no response within 2\.5 s/, ends: 'unreachable' }),
  ),
  'https where http is spoken': {
    args: (on) => ['mixpanel', on.file, '--to', on.server.url.replace('http:', 'https:'), '--project-key', projectKey],
    code: 'target_unreachable',
    says: /cannot be reached \(ERR_SSL/,
    ends: 'unreachable',
  },
  'a web page at the address': elsewhere('page', { code: 'target_foreign', says: /accepts events at .*got 200/ }),
  'an address that has moved': elsewhere('moved', {
    code: 'target_moved',
    says: /redirects to https:\/\/new\.example\//,
    advises: /final address as --to/,
  }),
  'a clock that is an hour off': elsewhere('lateClock', {
    code: 'clock_off',
    says: /60 min ahead of that of the target/,
  }),
  'a file that is not there': from((on) => ['mixpanel', join(on.dir, 'nonesuch.ndjson')], {
    code: 'source_failed',
    says: /Expected a file at .*nonesuch/,
  }),
  'a directory without files': from(
    async (on) => {
      await mkdir(join(on.dir, 'empty'), { recursive: true });
      return ['mixpanel', join(on.dir, 'empty')];
    },
    { code: 'source_failed', says: /Expected files in the directory .*empty, found none/ },
  ),
  'another format than was named': from((on) => ['amplitude', on.file], {
    code: 'format_unfit',
    says: /got none among the first 200/,
    advises: /mixpanel reads them/,
  }),
  'wrong keys of a bucket': from(s3('AKIDWRONG', 'a/'), { code: 'source_failed', says: /403|refuse|may not/i }),
  'a prefix that names nothing': from(s3('AKIDRIGHT', 'nonesuch/'), {
    code: 'source_failed',
    says: /nonesuch.*found none/,
  }),
  'a database that is away': from(
    (on) => {
      const url = on.urls.closed.replace('http:', 'postgres:').replace('//', '//reader:secret@');
      const settings = [`url=${url}/shop`, 'query=select 1 as id', 'cursor_column=id', 'tls=off'];
      return ['mapping', '--source', 'postgres', ...mappingOptions, ...settings.flatMap((each) => ['--setting', each])];
    },
    { code: 'source_unreachable', says: /PostgreSQL/, advises: /address is right/ },
  ),
  'a range in the future': from((on) => ['mixpanel', on.file, '--from-date', '2999-01-01'], {
    code: 'settings_contradict',
    says: /begins at 2999-01-01.* in the future/,
    advises: /--from-date and --to-date/,
  }),
  'a state directory that cannot be made': from(
    async (on) => ['mixpanel', on.file, '--state-dir', join(await written(on, 'plain', ''), 'state')],
    { code: 'staging_unwritable', says: /cannot be written to/, advises: /--state-dir/ },
  ),
};

const mappingOptions = ['--format-option', 'mapping={"event":"kind","distinct_id":"id","timestamp":"at"}'];

async function tryImport(row: Row, more: readonly string[] = []) {
  const state = join(scene.dir, `state-${Math.random().toString(36).slice(2)}`);
  const args = await row.args(scene);
  const where = args.includes('--state-dir') ? [] : ['--state-dir', state];
  const { code, stdout, stderr } = await spawnCommand(['import', ...args, ...where, '--json', ...more], {
    env: patience,
  });
  const [first = ''] = stdout.split('\n');
  if (first === '') return { code, stderr, result: undefined, begun: [] };
  const begun = (await readdir(state).catch(() => [])).filter((name) => !name.startsWith('preflight-'));
  return { code, stderr, result: JSON.parse(first) as PreflightResult, begun };
}

const spoken = ({ findings }: PreflightResult): string[] =>
  findings.map(({ level, code, message, advice }) => `${level} ${code}: ${message} → ${advice ?? 'nothing'}`);

function problemLike(code: string, says: RegExp, advises = /./): RegExp {
  return new RegExp(`^problem ${code}: .*(?:${says.source}).* → .*(?:${advises.source})`, 'i');
}

describe('the preflight of an import', () => {
  it.each(Object.entries(rows))('finds %s with advice, and nothing is exported', async (_name, row) => {
    const { code, result, begun, stderr } = await tryImport(row);
    expect(result === undefined ? [stderr] : spoken(result)).toContainEqual(
      expect.stringMatching(problemLike(row.code, row.says, row.advises)),
    );
    expect([code, begun]).toEqual([exitCodes[row.ends ?? 'preflight'].code, []]);
  });

  it.skipIf(!mayMount)('finds a disk without room', async () => {
    const path = join(scene.dir, 'small');
    using _disk = smallDisk(path, 4);
    const { code, result } = await tryImport(
      from((on) => ['mixpanel', on.file, '--state-dir', path], { code: '', says: /x/ }),
    );
    expect([code, result?.findings[0]]).toEqual([
      exitCodes.preflight.code,
      expect.objectContaining({ code: 'staging_full', message: expect.stringContaining('free some space') }),
    ]);
  });

  it.each([
    [['--from-date', '2024-02-01', '--to-date', '2024-01-01'], '--to-date: expected a time after --from-date'],
    [['--trial', '--limit', '5'], '--trial'],
  ])('%s contradict each other and are refused at once', async (words, sentence) => {
    const { code, stderr } = await spawnCommand(['import', 'mixpanel', scene.file, ...whole(scene), ...words]);
    expect([code, stderr]).toEqual([exitCodes.usage.code, expect.stringContaining(sentence)]);
  });

  it('alone it shows one page and starts nothing; without findings the import ends verified', async () => {
    const args = ['mixpanel', scene.file, ...whole(scene), '--state-dir', join(scene.dir, 'right')];
    const page = await spawnCommand(['import', 'preflight', ...args]);
    expect([page.code, page.stdout.split('\n').every((line) => line === '' || line.startsWith('fine'))]).toEqual([
      0,
      true,
    ]);
    expect(await spawnCommand(['import', 'list', '--state-dir', join(scene.dir, 'right'), '--json'])).toMatchObject({
      code: 0,
      stdout: '',
    });
    expect((await counted()).total.historical).toBe(0);
    const done = await spawnCommand(['import', ...args]);
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('verify exact')]);
  });

  it("the README's import, run as written, ends verified with exit code 0; with a wrong personal key with its own", async () => {
    const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
    const [, block = ''] = /## Import history.*?```sh\n(.*?)```/s.exec(readme) ?? [];
    // The commands before it create a key and an example; this test has both.
    const script = block
      .slice(block.indexOf('npx millrace import mixpanel'))
      .replaceAll('http://127.0.0.1:8000', scene.server.url)
      .replaceAll('<project key>', projectKey);
    const folder = join(scene.dir, 'readme');
    await mkdir(folder);
    // With other events: for those that another import stored, the verification would wait for the target to show more.
    const lines = mixpanelLines(200).join('\n').replaceAll('evt-', 'readme-');
    await writeFile(join(folder, 'export.ndjson'), lines);
    await using shell = await openCommandShell({ run: spawnCommand });
    const words = script
      .replace('npx millrace', '')
      .replaceAll('\\\n', ' ')
      .replace('"$MILLRACE_API_KEY"', 'phx_wrong');
    const args = words.replace('export.ndjson', `${folder}/export.ndjson`).trim().split(/\s+/);
    const refused = await spawnCommand([...args, '--state-dir', join(folder, 'refused')]);
    expect([refused.code, refused.stderr]).toEqual([exitCodes.auth.code, expect.stringContaining('personal key')]);
    expect(await shell.run(`MILLRACE_API_KEY=${personalKey}\n${script}`, folder)).toContain('verify exact');
  });

  it('waits for a response as long as --preflight-ms allows', async () => {
    const { result } = await tryImport(rows['a target that never answers'] as Row, ['--preflight-ms', '400']);
    expect(result === undefined ? [] : spoken(result)).toContainEqual(
      expect.stringMatching(/no response within 0\.4 s/),
    );
  });

  it('--no-preflight starts anyway', async () => {
    const { code, result } = await tryImport(rows['a wrong personal key'] as Row, ['--no-preflight']);
    expect(code).not.toBe(exitCodes.auth.code);
    expect(result).toMatchObject({ type: 'progress' });
  });

  describe('in the service', () => {
    it.each<[string, Record<string, unknown>, Record<string, unknown>, string, RegExp, RegExp | undefined]>([
      [
        'no agreement',
        {},
        { events_per_second: 5000 },
        'agreement_missing',
        /"Events per second" \(events_per_second\) requests 5,000/,
        /historical_migrations/,
      ],
      ['too small a budget of staging', {}, {}, 'staging_small', /has room for 0 MiB/, /MILLRACE_IMPORT_STAGING/],
      ['a file elsewhere', { paths: '/etc/passwd' }, {}, 'source_failed', /is not allowed to be read/, undefined],
    ])('finds %s, and a run with it exports nothing', async (_name, settings, body, code, says, advises) => {
      const config = await makeConfig({ paths: scene.file, format: 'mixpanel', ...settings });
      const root = `/api/projects/@current/pipeline_import_apps_configs/${config}`;
      const result = await post<PreflightResult>(scene.server, `${root}/preflight/`, body);
      expect(spoken(result)).toContainEqual(expect.stringMatching(problemLike(code, says, advises)));
      const { id } = await post<{ id: string }>(scene.server, `${root}/runs/`, body);
      const run = await untilEnded(`${root}/runs/${id}/`);
      expect(run).toMatchObject({ state: 'failed', stage: 'export', totals: { records: 0 } });
      expect(run.reason).toMatch(says);
      const kept = await apiGet<PreflightResult>(scene.server, `${root}/runs/${id}/preflight/`);
      expect(kept.findings.map((each) => each.code)).toContain(code);
    });
  });
});

async function counted(): Promise<CountsAnswer> {
  return apiGet<CountsAnswer>(scene.server, '/api/projects/@current/events/counts/');
}

async function makeConfig(settings: object): Promise<number> {
  const { results } = await apiGet<{ results: { id: number; slug?: string; name: string }[] }>(
    scene.server,
    '/api/projects/@current/plugins/?limit=100',
  );
  const plugin = results.find(({ name }) => name === 'Files')?.id;
  const base = '/api/projects/@current/pipeline_import_apps_configs/';
  const { id } = await post<{ id: number }>(scene.server, base, { plugin });
  const response = await fetch(`${scene.server.url}${base}${id}/settings/`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${personalKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(settings),
  });
  expect(response.ok).toBe(true);
  return id;
}

interface RunAnswer {
  readonly state: string;
  readonly reason: string;
}

async function untilEnded(path: string): Promise<RunAnswer> {
  for (;;) {
    const run = await apiGet<RunAnswer>(scene.server, path);
    if (run.state !== 'queued' && run.state !== 'running') return run;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
