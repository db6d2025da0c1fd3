/** Notifications of the real program: a failed run is reported, whatever happens to the service in between. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { spawnCommand, type Finished } from '../support/command.ts';
import { testServer } from '../support/outbound-server.ts';
import { personalKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

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
  it('a failed run is reported after kill -9, once the receiver is back, with one id; a test reports its outcome', async () => {
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
    const deliveries = async (server: TestServer) =>
      dataOf<object[]>(onServer(server)('notices', 'deliveries', id, '--output', 'json'));
    const notice = { event: 'run_failed' };
    // The attempt is written down: what is killed while it is being sent is claimed for two more minutes (test/conformance/notices/notices.ts).
    const postponed = expect.objectContaining({
      notice: expect.objectContaining(notice),
      state: 'queued',
      attempts: 1,
    });
    await expect.poll(() => deliveries(first), { interval: 1000 }).toContainEqual(postponed);
    await first.kill();
    receiver.state.isBack = true;

    const second = await startServer(dataDir.path, env);
    await expect.poll(() => receiver.taken, { timeout: 120_000 }).toContainEqual(expect.objectContaining(notice));
    const failed = receiver.asked.filter(({ event }) => event === 'run_failed');
    expect(new Set(failed.map(({ id: notice }) => notice)).size).toBe(1);
    expect((await deliveries(second))[0]).toMatchObject({ notice, state: 'sent' });
    await second.terminate();
  });
});
