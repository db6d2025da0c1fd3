/** Notices by the real program: a run that fails is told, whatever happens to the service in between. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { spawnCommand, type Finished } from '../support/command.ts';
import { testServer } from '../support/outbound-server.ts';
import { personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';
import { setTimeout as delay } from 'node:timers/promises';

interface Told {
  readonly id: string;
  readonly event: string;
  readonly summary: string;
}

/** Answers 503 until `isBack`; keeps what it was sent. */
async function startReceiver() {
  const asked: Told[] = [];
  const taken: Told[] = [];
  const state = { isBack: true };
  const server = await testServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const told = JSON.parse(Buffer.concat(chunks).toString()) as Told;
      asked.push(told);
      if (state.isBack) taken.push(told);
      response.writeHead(state.isBack ? 204 : 503).end();
    });
  });
  const url = `http://127.0.0.1:${server.port}/hook`;
  return { asked, taken, state, url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Longer than two minutes: what was being sent when the process was killed is claimed for so long, and only then sent again. */
async function until(is: () => boolean): Promise<void> {
  for (let tries = 0; tries < 1600; tries += 1) {
    if (is()) return;
    await delay(100);
  }
  throw new Error('expected it to become true within 160 seconds');
}

const onServer =
  ({ url }: TestServer) =>
  (...args: readonly string[]): Promise<Finished> =>
    spawnCommand(args, { env: { MILLRACE_URL: url, MILLRACE_API_KEY: personalKey } });

async function dataOf<T>(finished: Promise<Finished>): Promise<T> {
  const { code, stdout, stderr } = await finished;
  if (code !== 0) throw new Error(`expected the command to go well, got ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}

describe('notices', { timeout: 300_000 }, () => {
  it('a run that fails is told after kill -9, once the receiver is back, with one id; a test tells how it went', async () => {
    await using receiver = await startReceiver();
    await using dataDir = await tempDataDir();
    const env = { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' };
    const first = await startServer(dataDir.path, env);
    const run = onServer(first);
    const hook = ['--kind', 'webhook', '--address', receiver.url, '--event', 'run_failed', '--json'];
    const { id } = await dataOf<{ id: string }>(run('notices', 'create', '--name', 'ops', ...hook));
    expect(await dataOf(run('notices', 'test', id, '--json'))).toMatchObject({ state: 'sent', attempts: 1 });
    expect(receiver.taken.map(({ event }) => event)).toEqual(['test']);

    receiver.state.isBack = false;
    const refused = await run('notices', 'test', id);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('got 503')]);
    const settings = JSON.stringify({ paths: 'upload:not-there.jsonl', format: 'posthog' });
    const made = run('configs', 'create', '--plugin', 'files', '--settings', settings, '--json');
    const { id: config } = await dataOf<{ id: number }>(made);
    const started = await run('import', 'start', '--config', String(config));
    expect(started).toMatchObject({ code: 0 });
    await until(() => receiver.asked.some(({ event }) => event === 'run_failed'));
    await first.kill();
    receiver.state.isBack = true;

    const second = await startServer(dataDir.path, env);
    await until(() => receiver.taken.some(({ event }) => event === 'run_failed'));
    const failed = receiver.asked.filter(({ event }) => event === 'run_failed');
    expect(new Set(failed.map(({ id: notice }) => notice)).size).toBe(1);
    const listed = await dataOf<object[]>(onServer(second)('notices', 'deliveries', id, '--output', 'json'));
    expect(listed[0]).toMatchObject({ notice: { event: 'run_failed' }, state: 'sent' });
    await second.terminate();
  });
});
