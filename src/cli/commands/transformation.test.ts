import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../exit-codes.ts';
import { runCommand, type Finished } from '../../../test/support/command.ts';

// Everything is the real command, with the real bundler and sandbox.
let dir: string;

const files: Readonly<Record<string, string>> = {
  'upper.js': `
    function processEvent(event, { config }) {
      console.log('seen', event.event);
      if (event.properties.bot) return null;
      event.properties.plan = event.properties.plan.toUpperCase() + (config.suffix || '');
      return event;
    }`,
  'count.ts': `
    interface Seen { properties: Record<string, unknown> }
    export function setupPlugin({ global }: { global: { n: number } }) { global.n = 0; }
    export async function processEvent(event: Seen, { global, storage, jobs, metrics }: any) {
      global.n += 1;
      await storage.set('n', global.n);
      posthog.capture('counted', { distinct_id: 'bob' });
      await jobs.later({ a: 1 }).runNow();
      metrics.seen.increment(2);
      return event;
    }
    export const jobs = { later: () => {} };
    export const metrics = { seen: 'sum' };`,
  'broken.js': 'function processEvent(event) {\n  return event event\n}',
  'observer.js': 'module.exports.onEvent = (event) => { throw new Error(event.event); };',
  'plugin/plugin.json': JSON.stringify({
    name: 'Table',
    main: 'src/main.ts',
    config: [
      { markdown: 'Says things' },
      { key: 'word', type: 'string', required: true },
      { key: 'token', type: 'string', secret: true },
      { key: 'table', type: 'attachment' },
    ],
  }),
  'plugin/src/main.ts': `
    import { look } from './look';
    export function processEvent(event: any, { config, attachments }: any) {
      if (event.properties.fail) throw new Error('no ' + config.token);
      event.properties[config.word] = look(attachments, event.properties.plan);
      return event;
    }`,
  'plugin/src/look.ts': `
    export const look = (files: any, key: string) =>
      files.table ? JSON.parse(files.table.contents.toString())[key] : key;`,
  'table.json': '{"pro": 7}',
  'one.json': '{"event":"sign up","distinct_id":"ann","properties":{"plan":"pro"}}',
  'three.ndjson': ['{"plan":"a"}', '{"plan":"b","bot":true}', '{}']
    .map((properties) => `{"event":"e","distinct_id":"d","properties":${properties}}`)
    .join('\n'),
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'millrace-transformation-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true });
    await writeFile(join(dir, name), text);
  }
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** Words that name a file of the directory become its path. */
function run(words: string, more: Parameters<typeof runCommand>[1] = {}): Promise<Finished> {
  const path = (word: string): string => {
    const name = word.slice(word.indexOf('=') + 1);
    const isThere = Object.keys(files).some((file) => file === name || file.startsWith(`${name}/`));
    return isThere ? word.slice(0, word.length - name.length) + join(dir, name) : word;
  };
  return runCommand(['transformation', 'test', ...words.split(' ').map(path)], more);
}

describe('millrace transformation test', () => {
  it('runs a file on an event and shows changes, logs and duration', async () => {
    const { code, stdout, stderr } = await run('upper.js --event one.json --config suffix=!');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.replace(/[\d.]+ ms/, 'N ms')).toBe(
      [
        'event: sign up (ann)',
        '  upper.js: kept, N ms',
        '    log LOG seen sign up',
        '  ~ /properties/plan: "pro" → "PRO!"',
        '',
      ].join('\n'),
    );
  });

  it('runs several in order, including built-ins, event by event, and shows the event after each step', async () => {
    const { code, stdout, stderr } = await run(
      'count.ts upper.js drop-events --chain --config events=never --event three.ndjson',
    );
    expect(code).toBe(exitCodes.failed.code);
    const lines = stdout.split('\n').map((line) => line.trim().replace(/[\d.]+ ms|\S+Z/g, 'N'));
    for (const line of [
      'event 1 of 3: e (d)',
      'count.ts: kept, N',
      'captured counted (bob) {"distinct_id":"bob","$lib":"posthog-plugin-server","$lib_version":"1.10.7"}',
      'job later at N {"a":1}',
      'metric seen (sum): 2',
      'stored n: 1',
      '~ /properties/plan: "a" → "A"',
      'Drop events: kept, N',
      'dropped by upper.js',
      'stored n: 3',
      'upper.js: failed, N',
      "TypeError: Cannot read properties of undefined (reading 'toUpperCase')",
    ]) {
      expect(lines).toContain(line);
    }
    expect(stderr).toContain('1 of 3 events failed');
  });

  it('runs a folder as it would be installed: plugin.json, imports, attachments', async () => {
    const { code, stdout } = await run(
      'plugin --event one.json --config word=rate --attachment table=table.json --json',
    );
    expect(code).toBe(0);
    const { results } = JSON.parse(stdout) as { results: { after: unknown; steps: { diff: unknown }[] }[] };
    expect(results[0]?.after).toMatchObject({
      event: 'sign up',
      properties: { plan: 'pro', rate: 7, $plugins_succeeded: ['Table (1)'] },
    });
    expect(results[0]?.steps[0]?.diff).toEqual([{ path: '/properties/rate', op: 'add', after: 7 }]);
  });

  it('names a setting that is missing, and never repeats a secret', async () => {
    const missing = await run('plugin --event one.json');
    expect([missing.code, missing.stderr]).toEqual([
      1,
      'error: 1 of 1 event failed: missing required setting "word"\n',
    ]);
    const event = '{"event":"e","distinct_id":"d","properties":{"fail":true}}';
    const failing = await run('plugin --event - --config word=w --config token=s3cret', { input: event });
    expect(failing.code).toBe(1);
    expect(failing.stdout).toContain('Error: no ***');
    expect(failing.stdout + failing.stderr).not.toContain('s3cret');
  });

  it('compares with the expected event, and shows the differences', async () => {
    const expected = [{ event: 'e', properties: { plan: 'A' } }, null, { properties: {} }];
    const all = join(dir, 'expected.json.gz');
    await writeFile(all, gzipSync(JSON.stringify(expected)));
    const good = await run(`upper.js --event three.ndjson --expect ${all}`);
    expect([good.code, good.stderr]).toEqual([0, '']);
    expect(good.stdout.match(/as expected/g)).toHaveLength(3);
    await writeFile(all, JSON.stringify([{ properties: { plan: 'a' } }, { event: 'e' }, { properties: {} }]));
    const bad = await run(`upper.js --event three.ndjson --expect ${all}`);
    expect([bad.code, bad.stderr]).toEqual([1, 'error: 2 of 3 events were not as expected\n']);
    expect(bad.stdout).toContain('~ /properties/plan: "A" → "a"');
    expect(bad.stdout).toContain('~ the event: null → {"event":"e"}');
  });

  it('does not send events to a plugin that only observes them', async () => {
    const { code, stdout } = await run('observer.js --event one.json');
    expect(code).toBe(0);
    expect(stdout).toContain('observer.js: skipped');
    expect(stdout).toContain('a test would send them');
  });

  it.concurrent.each<[string, keyof typeof exitCodes, string]>([
    ['upper.js', 'usage', 'expected --event FILE'],
    ['--event one.json', 'usage', 'or --chain for the chain of a project'],
    [
      'nope --event one.json',
      'notFound',
      'expected a file or a built-in transformation, got: nope; built-in ones: drop-events',
    ],
    ['broken.js --event one.json', 'failed', 'broken.js:2'],
    ['plugin --event one.json --config wrod=1', 'usage', 'setting "wrod"; expected one of word, token, table'],
    ['upper.js --event one.json --config suffix', 'usage', 'expected key=value, got 6 characters without ='],
    ['upper.js --event table.json', 'usage', 'event 1: expected a text "event", the name'],
    ['upper.js --event upper.js', 'usage', '--event: expected JSON'],
    ['upper.js --event three.ndjson --expect one.json', 'usage', '1 result for 3 events'],
    ['upper.js --event /nowhere', 'usage', 'cannot read /nowhere'],
  ])('refuses %s', async (words, reason, message) => {
    const { code, stderr } = await run(words);
    expect([code, stderr]).toEqual([exitCodes[reason].code, expect.stringContaining(message)]);
  });
});

describe('the guide', () => {
  it('has an example that works as described', async () => {
    const guide = await readFile(new URL('../../../docs/guides/transformations.md', import.meta.url), 'utf8');
    const home = join(dir, 'guide');
    await mkdir(join(home, 'paid-tier'), { recursive: true });
    // Each file of the example is named in the sentence before its block.
    const blocks = guide.matchAll(/`([\w-]+(?:\/[\w-]+)?\.(?:json|ts))`[^`]*\n```(?:json|ts)\n([^`]*)```/g);
    const names: string[] = [];
    for (const [, name = '', text = ''] of blocks) {
      names.push(name);
      await writeFile(join(home, name), text);
    }
    expect(names).toEqual(['paid-tier/plugin.json', 'paid-tier/index.ts', 'sample.json', 'expected.json']);
    const words = ['paid-tier', '--event', 'sample.json', '--expect', 'expected.json'].map((word) =>
      word.startsWith('--') ? word : join(home, word),
    );
    const ran = await runCommand(['transformation', 'test', ...words, '--config', 'paid_plans=pro, team']);
    expect([ran.code, ran.stderr]).toEqual([0, '']);
    expect(ran.stdout).toContain('+ /properties/tier: "paid"');
    expect(ran.stdout).toContain('dropped by Paid tier');
  });
});

describe('millrace transformation test --chain, without plugins', () => {
  let server: Server;
  let url: string;
  let asked: { readonly path: string; readonly body: unknown }[];

  beforeAll(async () => {
    asked = [];
    server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      asked.push({ path: request.url ?? '', body: JSON.parse(Buffer.concat(chunks).toString('utf8')) });
      const before = { uuid: 'u', event: 'e', distinct_id: 'd', timestamp: 't', properties: {} };
      const step = { config_id: 4, name: 'Mark', outcome: 'kept', after: before, diff: [], error: null, time_ms: 1 };
      const nothing = { logs: [], captured: [], jobs: [], storage: {}, metrics: [], truncated: [] };
      const body = { before, after: before, outcome: 'kept', steps: [{ ...step, ...nothing }] };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('calls the running service with the given events, or with the latest matching one', async () => {
    const env = { MILLRACE_URL: url, MILLRACE_API_KEY: 'phx_key' };
    const given = await run('--chain --event three.ndjson', { env });
    expect([given.code, given.stderr]).toEqual([0, '']);
    expect(given.stdout).toContain('Mark: kept, 1 ms');
    const latest = await run('--chain --match-event pageview --project 7', { env });
    expect(latest.code).toBe(0);
    expect(asked).toHaveLength(4);
    expect(asked[0]).toMatchObject({ body: { event: { event: 'e', properties: { plan: 'a' } } } });
    expect(asked[3]).toEqual({
      path: '/api/projects/7/pipeline_transformation_configs/test/',
      body: { match: { event: 'pageview' } },
    });
  });
});
