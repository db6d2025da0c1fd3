import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

export interface SentEvent {
  readonly uuid: string;
  readonly event: string;
  readonly distinct_id: string;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/**
 * What the service does with a batch:
 * - keep: stores it and says so
 * - lose: stores it, then resets the connection
 * - reset: resets the connection
 * - refuse: answers with the status (and body), stores nothing
 */
export type Treatment =
  | 'keep'
  | 'lose'
  | 'reset'
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> };

export interface BatchService extends AsyncDisposable {
  readonly url: string;
  /** By uuid, as such a service stores them. */
  readonly stored: Map<string, SentEvent>;
  /** Days in the order in which they came first. */
  readonly days: string[];
  requests: number;
}

/** For tests: a service with `/batch/` that treats every request as told. */
export async function startBatchService(
  treat: (batch: readonly SentEvent[], attempt: number) => Treatment,
): Promise<BatchService> {
  const stored = new Map<string, SentEvent>();
  const days: string[] = [];
  const server = createServer((request, response) => {
    void readBatch(request).then((batch) => {
      // What asks, and sends no event.
      if (batch === undefined || batch.length === 0)
        return response.writeHead(batch === undefined ? 404 : 400).end('{}');
      service.requests += 1;
      const treatment = treat(batch, service.requests);
      if (treatment === 'reset') return request.socket.resetAndDestroy();
      if (treatment === 'keep' || treatment === 'lose') {
        for (const event of batch) {
          stored.set(event.uuid, event);
          const day = event.timestamp.slice(0, 10);
          if (!days.includes(day)) days.push(day);
        }
      }
      if (treatment === 'lose') return request.socket.resetAndDestroy();
      const { status, body, headers } =
        treatment === 'keep'
          ? { status: 200, body: { status: 'Ok' }, headers: {} }
          : { body: {}, headers: {}, ...treatment };
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      return response.end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const service: BatchService = {
    url: `http://127.0.0.1:${port}`,
    stored,
    days,
    requests: 0,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return service;
}

/** Undefined: the request is no batch. */
async function readBatch(request: IncomingMessage): Promise<readonly SentEvent[] | undefined> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  if (request.url?.endsWith('/batch/') !== true) return undefined;
  const body = JSON.parse(plain(request, Buffer.concat(parts)).toString('utf8')) as {
    api_key: string;
    historical_migration: boolean;
    batch: SentEvent[];
  };
  if (body.historical_migration !== true) throw new Error('expected historical_migration');
  return body.batch;
}

function plain({ headers }: IncomingMessage, body: Buffer): Buffer {
  return headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}
