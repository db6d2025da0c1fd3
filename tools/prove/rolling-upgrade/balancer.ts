/** A load balancer for HTTP: in turn to every backend that is ready, never again to another one. */
import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Balancer extends AsyncDisposable {
  readonly url: string;
  /** Backends, which get requests while they are ready. */
  add(url: string): void;
  remove(url: string): void;
  result(): BalancerResult;
}

export interface BalancerResult {
  readonly requests: number;
  /** Responses 503 with Retry-After. */
  readonly refused: number;
  /** The longest time from such a response to the next other one, ms. */
  readonly refusedMsMax: number;
  /** Other responses from 500, and requests without one. */
  readonly faults: readonly string[];
}

const checkEveryMs = 500;
const checkMsMax = 2000;
const firstFault = 500;

export async function startBalancer(): Promise<Balancer> {
  const backends = new Map<string, { isReady: boolean }>();
  const agent = new Agent({ keepAlive: true, timeout: 60_000 });
  const faults: string[] = [];
  let [turn, requests, refused, refusedMsMax] = [0, 0, 0, 0];
  let refusedSince: number | undefined;
  const record = (what: string, status: number, mayRetry: boolean): void => {
    const isRefused = status === 503 && mayRetry;
    if (isRefused) {
      refused += 1;
      refusedSince ??= performance.now();
    } else {
      if (refusedSince !== undefined) refusedMsMax = Math.max(refusedMsMax, performance.now() - refusedSince);
      refusedSince = undefined;
      if (status >= firstFault) faults.push(`${new Date().toISOString()} ${what}: ${status}`);
    }
  };
  const pass = (from: IncomingMessage, to: ServerResponse): void => {
    requests += 1;
    const ready = [...backends].filter(([, { isReady }]) => isReady).map(([url]) => url);
    const backend = ready[(turn += 1) % ready.length];
    const what = `${from.method} ${from.url?.replace(/\?.*/, '')} of ${backend}`;
    const fail = (why: string): void => {
      record(`${what} (${why})`, 502, false);
      if (!to.headersSent) to.writeHead(502);
      to.end();
    };
    if (backend === undefined) return fail('no backend is ready');
    const passed = request(backend + from.url, { method: from.method, headers: from.headers, agent });
    passed.once('response', (answer) => {
      const status = answer.statusCode ?? 0;
      record(what, status, answer.headers['retry-after'] !== undefined);
      const { connection: _, ...headers } = answer.headers;
      to.writeHead(status, headers);
      answer.pipe(to);
      answer.once('error', (error) => to.destroy(error));
    });
    passed.once('error', (error) => fail(error.message));
    from.pipe(passed);
  };
  const server = createServer(pass).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const closing = new AbortController();
  const checking = checkBackends(backends, closing.signal);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    add: (url) => void backends.set(url, { isReady: false }),
    remove: (url) => void backends.delete(url),
    result: () => ({ requests, refused, refusedMsMax, faults }),
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await checking;
      agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

async function checkBackends(backends: ReadonlyMap<string, { isReady: boolean }>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Promise.all(
      [...backends].map(async ([url, state]) => {
        const checked = fetch(`${url}/readyz`, { signal: AbortSignal.timeout(checkMsMax) });
        state.isReady = await checked.then(
          async (answer) => (await answer.text()) !== '' && answer.status === 200,
          () => false,
        );
      }),
    );
    await delay(checkEveryMs);
  }
}
