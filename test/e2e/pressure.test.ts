/** Disk full, a store that does not keep up, answers that get lost: the real program under pressure. */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { hasProc, runningStorePid } from '../support/processes.ts';
import { projectKey, startServer, tempDataDir, untilStored, type TestServer } from '../support/server.ts';
import { fillDisk, mayMount, smallDisk } from '../support/small-disk.ts';

function batch(events: number, padding = 0): string {
  const one = (): object => ({
    event: 'seen',
    distinct_id: 'p',
    uuid: randomUUID(),
    timestamp: '2024-01-01T00:00:00Z',
    properties: { padding: randomUUID().repeat(Math.ceil(padding / 36)) },
  });
  return JSON.stringify({
    api_key: projectKey,
    historical_migration: true,
    batch: Array.from({ length: events }, one),
  });
}

function post(url: string, body: string): Promise<Response> {
  return fetch(`${url}/batch/`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
}

async function sendUntil(server: TestServer, wanted: number, body: () => string, withinMs: number): Promise<number> {
  const deadline = Date.now() + withinMs;
  let accepted = 0;
  while (Date.now() < deadline) {
    const answer = await post(server.url, body());
    await answer.arrayBuffer();
    // A refusal without a time to try again would make clients drop events.
    expect([answer.status, answer.headers.has('retry-after')]).toBeOneOf([
      [200, false],
      [503, true],
    ]);
    if (answer.status === 200) accepted += 1;
    if (answer.status === wanted) return accepted;
  }
  throw new Error(`expected an answer with status ${wanted} within ${withinMs} ms`);
}

describe.skipIf(!mayMount)('a full disk (needs the right to mount a tmpfs)', () => {
  it.each([
    ['the event log', 'log', 24],
    ['the event store', 'events', 192],
    ['everything', '', 256],
  ])(
    'under %s: 503 and no acknowledgement, then recovery; acknowledged events are stored once',
    async (_, part, size) => {
      await using dataDir = await tempDataDir();
      const root = join(dataDir.path, 'data');
      const disk = join(root, part);
      using _disk = smallDisk(disk, size);
      // Small limits so that a store without space turns into back-pressure soon.
      const server = await startServer(root, { MILLRACE_BACKLOG_EVENTS_MAX: '2000' });
      await (await post(server.url, batch(10))).arrayBuffer();
      await untilStored(server, { historical: 10 });
      const ballast = fillDisk(disk);
      const accepted = await sendUntil(server, 503, () => batch(10, 20_000), 60_000);
      rmSync(ballast);
      const more = await sendUntil(server, 200, () => batch(10), 60_000);
      await untilStored(server, { historical: 10 + 10 * (accepted + more) }, 60_000);
      expect((await server.terminate()).code).toBe(0);
    },
  );
});

it.skipIf(!hasProc)(
  'capture answers 503 with Retry-After in bounded memory while the store hangs, and recovers automatically',
  async () => {
    await using dataDir = await tempDataDir();
    const server = await startServer(dataDir.path, {
      MILLRACE_BACKLOG_EVENTS_MAX: '3000',
    });
    const frozen = runningStorePid(server);
    process.kill(frozen, 'SIGSTOP');
    const accepted = await sendUntil(server, 503, () => batch(500), 30_000);
    expect(accepted).toBeGreaterThanOrEqual(1);
    process.kill(frozen, 'SIGCONT');
    const more = await sendUntil(server, 200, () => batch(500), 60_000);
    await untilStored(server, { historical: 500 * (accepted + more) }, 60_000);
    await server.terminate();
  },
);

/** Forwards to the server and drops every answer for as long as `drops()` says so. */
async function lossyProxy(target: string, drops: () => boolean): Promise<{ url: string; server: Server }> {
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', async () => {
      const forwarded = await fetch(target + incoming.url, { method: 'POST', body: Buffer.concat(chunks) });
      const text = await forwarded.text();
      if (drops()) incoming.socket.destroy();
      else answer.writeHead(forwarded.status, { 'content-type': 'application/json' }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

it('a batch that is retried because its response was lost is stored and counted once', async () => {
  await using dataDir = await tempDataDir();
  const server = await startServer(dataDir.path);
  let losses = 2;
  const proxy = await lossyProxy(server.url, () => losses-- > 0);
  const body = batch(7);
  let answer: Response | undefined;
  while (!answer) {
    answer = await post(proxy.url, body).catch(() => undefined);
    await delay(50);
  }
  expect(answer.status).toBe(200);
  await untilStored(server, { historical: 7, standard: 0 });
  proxy.server.close();
  await server.terminate();
});
