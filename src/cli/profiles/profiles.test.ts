import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runCommand, type Finished } from '../../../test/support/command.ts';

/** What a server was asked, and with which key. */
interface Seen {
  readonly path: string;
  readonly key: string | undefined;
}
interface TestService {
  readonly url: string;
  readonly seen: Seen[];
  readonly server: Server;
}

let dir: string;
let one: TestService;
let other: TestService;
beforeAll(async () => {
  [one, other] = await Promise.all([startService(), startService()]);
});
afterAll(() => {
  for (const { server } of [one, other]) server.close();
});
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'millrace-profiles-'));
  for (const { seen } of [one, other]) seen.length = 0;
  return () => rmSync(dir, { recursive: true, force: true });
});

async function startService(): Promise<TestService> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      const sent = /"api_key":"([^"]*)"/.exec(text.toString())?.[1];
      const key = request.headers.authorization?.replace('Bearer ', '') ?? sent;
      seen.push({ path: request.url ?? '', key });
      response.setHeader('content-type', 'application/json');
      response.end(request.method === 'POST' ? '{"status":"Ok"}' : '{"next":null,"results":[]}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Sound: a server that listens on a port has an AddressInfo.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, server };
}

const run = (line: string, env: Record<string, string> = {}, input = ''): Promise<Finished> =>
  runCommand(line.split(' '), { env: { XDG_CONFIG_HOME: dir, ...env }, input });

async function done(line: string, env: Record<string, string> = {}, input = ''): Promise<Finished> {
  const finished = await run(line, env, input);
  if (finished.code !== 0) throw new Error(`expected "millrace ${line}" to end well, got: ${finished.stderr}`);
  return finished;
}

const file = (): string => join(dir, 'millrace/profiles.json');
const add = (name: string, { url }: TestService, more = ''): Promise<Finished> =>
  done(`profiles add ${name} --url ${url} --api-key phx_${name} --project-key phc_${name}${more}`);

describe('stored profiles', () => {
  it('commands use address, key and project of the named or the current profile', async () => {
    await add('first', one, ' --project 7 --use');
    await add('second', other);
    await done('warnings list');
    expect(one.seen).toEqual([{ path: expect.stringContaining('/api/projects/7/'), key: 'phx_first' }]);
    await done('warnings list --profile second');
    await done('warnings list', { MILLRACE_PROFILE: 'second' });
    expect(other.seen.map(({ key }) => key)).toEqual(['phx_second', 'phx_second']);
    expect(other.seen[0]?.path).toContain('/api/projects/@current/');
    await done('send - --profile second', {}, '{"event":"a","distinct_id":"b"}\n');
    expect(other.seen.at(-1)).toEqual({ path: '/batch/', key: 'phc_second' });
    await done('profiles use');
    expect((await run('warnings list --url http://127.0.0.1:1')).code).toBe(69);
    expect(one.seen.length).toBe(1);
  });

  it('flags and variables each override a profile', async () => {
    await add('first', one, ' --project 7 --use');
    await done('warnings list --api-key phx_flag --project 8');
    await done('warnings list', { MILLRACE_API_KEY: 'phx_variable' });
    expect(one.seen.map(({ key }) => key)).toEqual(['phx_flag', 'phx_variable']);
    expect(one.seen.map(({ path }) => path.split('/')[3])).toEqual(['8', '7']);
  });

  it('no key of a profile is sent to another service', async () => {
    await add('first', one, ' --project 7 --use');
    await run(`warnings list --url ${other.url}`);
    await run('warnings list --profile first', { MILLRACE_URL: other.url });
    await run(`send - --url ${other.url}`, {}, '{"event":"a","distinct_id":"b"}\n');
    expect(other.seen.map(({ key }) => key)).toEqual([undefined, undefined]);
    expect(other.seen.every(({ path }) => path.includes('/@current/'))).toBe(true);
    // The same address, written otherwise.
    await done(`warnings list --url ${one.url}/`);
    expect(one.seen.map(({ key }) => key)).toEqual(['phx_first']);
  });

  it('keys are stored in a file readable by this user only, and never shown', async () => {
    await add('first', one);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'millrace')).mode & 0o077).toBe(0);
    expect(readFileSync(file(), 'utf8')).toContain('phx_first');
    for (const line of ['profiles list', 'profiles list --json', 'profiles use first', 'profiles remove first --yes']) {
      const { stdout, stderr } = await done(line);
      expect(stdout + stderr).not.toMatch(/phx_|phc_/);
    }
    expect(readFileSync(file(), 'utf8')).not.toContain('phx_first');
    chmodSync(file(), 0o644);
    await done('profiles list');
    expect(statSync(file()).mode & 0o777).toBe(0o600);
  });

  it('a key can be read from a file', async () => {
    const key = join(dir, 'key');
    writeFileSync(key, 'phx_filed\n');
    await done(`profiles add filed --url ${one.url} --api-key @${key} --use`);
    await done('warnings list');
    await done(`warnings list --url ${other.url} --api-key @${key}`);
    expect([...one.seen, ...other.seen].map((each) => each.key)).toEqual(['phx_filed', 'phx_filed']);
  });

  it.each([
    [
      'warnings list --profile absent',
      5,
      /expected a profile absent, got none; create one with "millrace profiles add"/,
    ],
    ['profiles add bad --url ftp://x', 2, /--url: expected an address such as/],
    ['profiles add bad --url http://me:secret@here', 2, /expected an address without user and password/],
    ['profiles add a/b --url http://here', 2, /expected a name of letters, digits and \. _ -, got: a\/b/],
    ['profiles add a --url http://here --project x', 2, /--project: expected the number of a project/],
    ['profiles use absent', 5, /expected a profile absent/],
  ])('millrace %s is refused with advice', async (line, code, sentence) => {
    const finished = await run(line);
    expect(finished.stderr).toMatch(sentence);
    expect(finished.stderr).not.toContain('secret');
    expect(finished.code).toBe(code);
  });

  it('a malformed file is named, and a process without a home has no profiles', async () => {
    await add('first', one);
    writeFileSync(file(), '{"profiles":{"x":{}}}');
    const { code, stderr } = await run('warnings list');
    expect([code, stderr]).toEqual([78, expect.stringContaining(`${file()} is malformed`)]);
    expect((await run('profiles list', { XDG_CONFIG_HOME: '' })).stdout).toContain('NAME');
    expect((await run('profiles add a --url http://here', { XDG_CONFIG_HOME: '' })).stderr).toContain('HOME');
  });
});

describe('one meaning for each option', () => {
  const event = '{"event":"a","distinct_id":"b"}\n';

  it('--project-key is the key of a project, and --api-key still accepts it with one note', async () => {
    const now = await done(`send - --url ${one.url} --project-key phc_new --no-progress`, {}, event);
    expect(now.stderr).not.toContain('--project-key');
    const before = await done(`send - --url ${one.url} --api-key phc_old --no-progress`, {}, event);
    expect(before.stderr.match(/use --project-key for that/g)).toHaveLength(1);
    expect(one.seen.map(({ key }) => key)).toEqual(['phc_new', 'phc_old']);
  });

  it('a personal key cannot send events', async () => {
    const { code, stderr } = await run(`send - --url ${one.url} --api-key phx_mine`, {}, event);
    expect([code, stderr]).toEqual([2, expect.stringContaining('expected --project-key or MILLRACE_PROJECT_API_KEY')]);
  });

  it('--token is still the personal key of commands about runs', async () => {
    const { stderr } = await run(`import list --config 1 --url ${one.url} --token phx_old`);
    expect(stderr.match(/--token is now --api-key; the old name still works/g)).toHaveLength(1);
    expect(one.seen[0]?.key).toBe('phx_old');
  });

  it('an import reads back with --api-key, MILLRACE_API_KEY or the old --personal-api-key', async () => {
    const records = join(dir, 'records.ndjson');
    writeFileSync(records, '{"event":"a","properties":{"distinct_id":"b","time":1700000000}}\n');
    const line = `import preflight mixpanel ${records} --to ${one.url} --state-dir ${dir}/state`;
    const asked = async (more: string, env = {}): Promise<readonly (string | undefined)[]> => {
      one.seen.length = 0;
      await run(line + more, env);
      return [...new Set(one.seen.map(({ key }) => key))].filter((key) => key?.startsWith('ph')).toSorted();
    };
    expect(await asked(' --project-key phc_p --api-key phx_flag')).toEqual(['phc_p', 'phx_flag']);
    expect(await asked(' --project-key phc_p', { MILLRACE_API_KEY: 'phx_variable' })).toEqual([
      'phc_p',
      'phx_variable',
    ]);
    expect(await asked(' --api-key phc_old --personal-api-key phx_old')).toEqual(['phc_old', 'phx_old']);
    // The variable's key is for the variable's server.
    const own = { MILLRACE_API_KEY: 'phx_variable', MILLRACE_URL: other.url };
    expect(await asked(' --project-key phc_p', own)).toEqual(['phc_p']);
  });
});
