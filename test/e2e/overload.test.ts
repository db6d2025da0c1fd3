/** More than the service can take, and clients that never finish: the real program, raw sockets, a store that crawls. */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readAllEvents } from '../support/ledger.ts';
import { hasProc, peakMemory, storePid } from '../support/processes.ts';
import { projectKey, startServer, tempDataDir, untilStored, type TestServer } from '../support/server.ts';

const eventsPerBatch = 100;

/** What one load run was answered. */
interface Load {
  /** uuids of all acknowledged events. */
  readonly acknowledged: Set<string>;
  /** How often each status came. */
  readonly statuses: Map<number, number>;
  readonly withoutRetryAfter: number[];
  /** Without any response: whether it was stored is unknown. */
  readonly unanswered: Batch[];
  slowestMs: number;
}

type Batch = readonly { readonly uuid: string }[];

function newLoad(): Load {
  return { acknowledged: new Set(), statuses: new Map(), withoutRetryAfter: [], unanswered: [], slowestMs: 0 };
}

/** Sends from 32 connections without ever waiting after a refusal; ends when the server is gone or `signal` aborts. */
async function sendAll(server: TestServer, load: Load, signal: AbortSignal): Promise<void> {
  const worker = async (): Promise<void> => {
    while (!signal.aborted && server.child.exitCode === null && (await sendOne(server, load)));
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

function newBatch(): Batch {
  const timestamp = new Date().toISOString();
  return Array.from({ length: eventsPerBatch }, (_, n) => ({
    event: 'flood',
    distinct_id: `p${n}`,
    uuid: randomUUID(),
    timestamp,
    properties: { padding: 'x'.repeat(200) },
  }));
}

/** False: there was no answer. */
async function sendOne(server: TestServer, load: Load, batch = newBatch()): Promise<boolean> {
  const started = performance.now();
  let answer: Response;
  try {
    answer = await fetch(`${server.url}/batch/`, {
      method: 'POST',
      body: JSON.stringify({ api_key: projectKey, batch }),
    });
    await answer.arrayBuffer();
  } catch {
    load.unanswered.push(batch);
    return false;
  }
  load.slowestMs = Math.max(load.slowestMs, performance.now() - started);
  load.statuses.set(answer.status, (load.statuses.get(answer.status) ?? 0) + 1);
  if (answer.status === 200) for (const { uuid } of batch) load.acknowledged.add(uuid);
  else if (answer.headers.get('retry-after') === null) load.withoutRetryAfter.push(answer.status);
  return true;
}

/** Lets the event store run for a tenth of the time: an engine that is ten times too slow. */
async function slowDownStore(server: TestServer, signal: AbortSignal): Promise<void> {
  const tell = (pid: number | undefined, what: 'SIGSTOP' | 'SIGCONT'): void => {
    try {
      if (pid !== undefined) process.kill(pid, what);
    } catch (error) {
      // It ended between the look and the signal.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
  while (!signal.aborted && server.child.exitCode === null) {
    const pid = storePid(server);
    tell(pid, 'SIGSTOP');
    await delay(270);
    tell(pid, 'SIGCONT');
    await delay(30);
  }
}

function uuidsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map((row) => row.id).sort();
}

const smallBacklog = { MILLRACE_BACKLOG_EVENTS_MAX: '5000', MILLRACE_WINDOW_EVENTS_MAX: '2000' };

describe.skipIf(!hasProc)('many times what a slow event store can take', () => {
  it('is answered with 200 or 503 and Retry-After in bounded memory; acknowledged events are stored once', async () => {
    await using dataDir = await tempDataDir();
    const server = await startServer(dataDir.path, smallBacklog);
    const load = newLoad();
    const stop = new AbortController();
    const slow = slowDownStore(server, stop.signal);
    const sending = sendAll(server, load, stop.signal);
    await delay(3000);
    // However few requests a busy machine sends in that time.
    await expect.poll(() => (load.statuses.get(503) ?? 0) > (load.statuses.get(200) ?? 0)).toBe(true);
    stop.abort();
    await Promise.all([slow, sending]);

    expect([...load.statuses.keys()].sort()).toEqual([200, 503]);
    expect(load.withoutRetryAfter).toEqual([]);
    expect(load.statuses.get(503)).toBeGreaterThan(load.statuses.get(200) ?? 0);
    expect(load.slowestMs).toBeLessThan(5000);
    expect(peakMemory(server)).toBeLessThan(700);
    await untilStored(server, { standard: load.acknowledged.size, historical: 0 }, 60_000);
    expect(uuidsOf(await readAllEvents(server))).toEqual([...load.acknowledged].sort());
    // It is over at once: no refusal is left behind.
    const after = newLoad();
    for (let n = 0; n < 20; n += 1) await sendOne(server, after);
    expect([...after.statuses]).toEqual([[200, 20]]);
    await server.terminate();
  });

  it('and SIGTERM: the process ends within 10 s with exit code 0, and the next one stores its acknowledged events once', async () => {
    await using dataDir = await tempDataDir();
    const overloaded = await startServer(dataDir.path, smallBacklog);
    const load = newLoad();
    const stop = new AbortController();
    const slow = slowDownStore(overloaded, stop.signal);
    const sending = sendAll(overloaded, load, stop.signal);
    while ((load.statuses.get(503) ?? 0) < 100) await delay(20);
    const { code, ms } = await overloaded.terminate();
    stop.abort();
    await Promise.all([slow, sending]);
    expect([code, ms < 10_000]).toEqual([0, true]);
    expect([...load.statuses.keys()].sort()).toEqual([200, 503]);
    const server = await startServer(dataDir.path);
    for (const batch of load.unanswered.splice(0)) expect(await sendOne(server, load, batch)).toBe(true);
    await untilStored(server, { standard: load.acknowledged.size, historical: 0 }, 60_000);
    expect(uuidsOf(await readAllEvents(server))).toEqual([...load.acknowledged].sort());
    await server.terminate();
  });
});

const bodyTimeoutMs = 2000;
/** Five seconds above the time for a body, and the server looks once a second. */
const headersTimeoutMs = bodyTimeoutMs + 5000 + 1000;
/** For a machine with other things to do. */
const graceMs = 4000;

interface SlowClient {
  /** Sent at once. */
  readonly start: string;
  /** Sent byte for byte, one every 100 ms, again and again. */
  readonly drip?: string;
  /** Closes its side after the start. */
  readonly halfClose?: boolean;
  /** First line of the answer; empty: closed without one. */
  readonly answer: string;
  readonly withinMs: number;
}

const postLine = 'POST /batch/ HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';
const timedOut = 'HTTP/1.1 408 Request Timeout';
const good = JSON.stringify({ api_key: projectKey, event: 'short', distinct_id: 'd' });

const slowClients: Readonly<Record<string, SlowClient>> = {
  'headers one byte at a time': {
    start: postLine,
    drip: 'x-slow: yes\r\n',
    answer: timedOut,
    withinMs: headersTimeoutMs,
  },
  'nothing at all': { start: '', answer: timedOut, withinMs: headersTimeoutMs },
  'a body one byte at a time': {
    start: `${postLine}content-length: 100000\r\n\r\n`,
    drip: '[',
    answer: timedOut,
    withinMs: bodyTimeoutMs,
  },
  'half a body, then silence': {
    start: `${postLine}content-length: 100000\r\n\r\n{"api_key":`,
    answer: timedOut,
    withinMs: bodyTimeoutMs,
  },
  'a Content-Length beyond what comes': {
    start: `${postLine}content-length: ${good.length + 1}\r\n\r\n${good}`,
    answer: timedOut,
    withinMs: bodyTimeoutMs,
  },
  'chunks without an end': {
    start: `${postLine}transfer-encoding: chunked\r\n\r\n1\r\n[\r\n`,
    drip: '1\r\n[\r\n',
    answer: timedOut,
    withinMs: bodyTimeoutMs,
  },
  'half a body, then a closed direction': {
    start: `${postLine}content-length: 100000\r\n\r\n{"api_key":`,
    halfClose: true,
    answer: 'HTTP/1.1 400 Bad Request',
    withinMs: bodyTimeoutMs,
  },
  'a Content-Length that is too small': {
    start: `${postLine}content-length: 10\r\n\r\n${good}`,
    answer: 'HTTP/1.1 400 Bad Request',
    withinMs: bodyTimeoutMs,
  },
  'Content-Length and chunks at once': {
    start: `${postLine}content-length: 10\r\ntransfer-encoding: chunked\r\n\r\n1\r\n[\r\n`,
    answer: 'HTTP/1.1 400 Bad Request',
    withinMs: bodyTimeoutMs,
  },
};

describe('clients that do not finish', () => {
  let server: TestServer;
  let dataDir: Awaited<ReturnType<typeof tempDataDir>>;
  let accepted = 0;
  let slowestMs = 0;
  const idle: Socket[] = [];
  const stop = new AbortController();
  let normal: Promise<void>;

  const open = (): Socket => connect(Number(new URL(server.url).port), '127.0.0.1');

  /** An ordinary client beside all the others. */
  async function keepSending(): Promise<void> {
    while (!stop.signal.aborted) {
      const started = performance.now();
      const answer = await fetch(`${server.url}/batch/`, { method: 'POST', body: good });
      expect([answer.status, await answer.text()]).toEqual([200, '{"status":"Ok"}']);
      slowestMs = Math.max(slowestMs, performance.now() - started);
      accepted += 1;
      await delay(20);
    }
  }

  beforeAll(async () => {
    dataDir = await tempDataDir();
    server = await startServer(dataDir.path, { MILLRACE_CAPTURE_BODY_TIMEOUT_MS: String(bodyTimeoutMs) });
    for (let n = 0; n < 500; n += 1) {
      const socket = open();
      // How it ends is looked at below.
      socket.on('error', () => undefined).resume();
      idle.push(socket);
    }
    normal = keepSending();
  });
  afterAll(async () => {
    for (const socket of idle) socket.destroy();
    await server.terminate();
    await dataDir[Symbol.asyncDispose]();
  });

  /** The first line of the answer and when the connection was over. */
  function runSlowClient({ start, drip, halfClose }: SlowClient): Promise<{ answer: string; ms: number }> {
    return new Promise((resolve) => {
      const socket = open();
      const started = performance.now();
      let received = '';
      let sent = 0;
      const dripping = setInterval(() => {
        if (drip !== undefined && socket.writable) socket.write(drip.charAt(sent++ % drip.length));
      }, 100);
      socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
      // A reset counts as the end, too.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearInterval(dripping);
        resolve({ answer: received.split('\r\n')[0] ?? '', ms: performance.now() - started });
      });
      socket.write(start);
      if (halfClose) socket.end();
    });
  }

  it.concurrent.each(Object.entries(slowClients))('%s: answered and closed in time', async (_name, client) => {
    const { answer, ms } = await runSlowClient(client);
    expect(answer).toBe(client.answer);
    expect(ms).toBeLessThan(client.withinMs + graceMs);
  });

  it('500 idle connections are closed while a normal client is served, each event stored once', async () => {
    const deadline = Date.now() + headersTimeoutMs + graceMs;
    while (idle.some((socket) => !socket.destroyed) && Date.now() < deadline) await delay(50);
    expect(idle.filter((socket) => !socket.destroyed)).toHaveLength(0);
    stop.abort();
    await normal;
    expect(accepted).toBeGreaterThan(20);
    expect(slowestMs).toBeLessThan(2000);
    await untilStored(server, { standard: accepted, historical: 0 });
  });
});
