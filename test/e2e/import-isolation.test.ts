/**
 * Real: the whole program as a process, its process of imports, SQLite, chDB, files, HTTP. Doubled: nothing. What is read here ends
 * its reader, or never ends; what is observed is that the service around it stays.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { apiSend, createImportConfig, startImport, untilRun, type RunAnswer } from '../support/import-runs.ts';
import { batchOf, startLyingBroker, type Lies } from '../support/lying-broker.ts';
import { hasProc, importPid } from '../support/processes.ts';
import { projectKey, startServer, tempDataDir, type TestServer } from '../support/server.ts';

let sent = 0;

/** One event. */
async function capture(server: TestServer): Promise<number> {
  sent += 1;
  const event = { event: 'seen', distinct_id: `user ${sent}`, properties: {} };
  const body = JSON.stringify({ api_key: projectKey, batch: [event] });
  const answer = await fetch(`${server.url}/batch/`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json' },
  });
  await answer.arrayBuffer();
  return answer.status;
}

/** Gives the beginning of a file and never its end. `readers`: how many wait for it. */
async function endlessFile(): Promise<{ readonly url: string; readonly readers: () => number }> {
  let readers = 0;
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    if (request.method === 'HEAD') return void response.end();
    readers += 1;
    response.once('close', () => (readers -= 1));
    response.write('{"event":"a","distinct_id":"b","timestamp":"2026-01-01T00:00:00Z"}\n');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/poison.jsonl`, readers: () => readers };
}

it.skipIf(!hasProc)(
  'a run that crashes its worker twice at the same place fails with the cause and the place; capture answers, and a resume tries again',
  async () => {
    await using dataDir = await tempDataDir();
    const server = await startServer(dataDir.path, { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
    const { url, readers } = await endlessFile();
    const config = await createImportConfig(server, 'Web addresses', { urls: url, format: 'amplitude' });
    const run = await startImport(server, config, { preflight: false });
    const killReader = async (): Promise<void> => {
      await expect.poll(readers).toBe(1);
      const pid = importPid(server) ?? 0;
      process.kill(pid, 'SIGKILL');
      expect(await capture(server)).toBe(200);
      await expect.poll(() => importPid(server) ?? pid).not.toBe(pid);
    };
    await killReader();
    await killReader();
    const { reason } = await untilRun(server, run, ({ state }) => state === 'failed');
    expect(reason).toMatch(
      /2 crashes .* at the same place: it ended with SIGKILL while it read .*poison\.jsonl.*resume the run/,
    );
    await apiSend<RunAnswer>(server, 'POST', `${run}resume/`);
    await expect.poll(readers).toBe(1);
    expect((await server.terminate()).code).toBe(0);
  },
  180_000,
);

const lies: readonly [what: string, lies: Lies, reason: RegExp][] = [
  [
    'claims more records than a batch holds',
    { records: () => batchOf({ first: 0n, count: 3, countSaid: 2e9 }) },
    /cannot be read/,
  ],
  ['gives the same batch without an end', { records: () => batchOf({ first: 0n, count: 1 }) }, /beyond offset 1/],
  [
    'answers with a negative size',
    { records: () => Buffer.alloc(0), frame: (right) => Buffer.concat([Buffer.alloc(4, 0xff), right.subarray(4)]) },
    /expected an answer of at least 4 bytes, got -1/,
  ],
];

it.skipIf(!hasProc).each(lies)(
  'a run over a broker that %s has failed with the reason, and the service and its next imports continue',
  async (_what, told, reason) => {
    await using dataDir = await tempDataDir();
    await using broker = await startLyingBroker(told);
    const server = await startServer(dataDir.path, { MILLRACE_OUTBOUND_ALLOW: '127.0.0.1' });
    const settings = { brokers: broker.brokers, topic: 'events', format: 'posthog' };
    const config = await createImportConfig(server, 'Kafka', settings);
    const run = await startImport(server, config, { preflight: false });
    const failed = await untilRun(server, run, ({ state }) => state === 'failed');
    expect(failed).toMatchObject({ stage: 'export', reason: expect.stringMatching(reason) as string });
    expect(await capture(server)).toBe(200);
    await using honest = await startLyingBroker({ records: () => batchOf({ first: 0n, count: 10 }) });
    const next = await createImportConfig(server, 'Kafka', { ...settings, brokers: honest.brokers });
    const { totals } = await untilRun(server, await startImport(server, next), ({ state }) => state === 'completed');
    expect(totals).toMatchObject({ records: 10, loaded: 10 });
    expect((await server.terminate()).code).toBe(0);
  },
  180_000,
);
