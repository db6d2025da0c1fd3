import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

export interface ReceivedBatch {
  readonly api_key: string;
  readonly historical_migration?: boolean;
  readonly batch: readonly Readonly<Record<string, unknown>>[];
}

/** How the endpoint treats a request; `keep` stores the batch and answers 200. */
export type Behaviour = (
  batch: ReceivedBatch,
  attempt: number,
) =>
  | {
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
      readonly keep?: boolean;
    }
  | 'keep'
  | 'reset';

/** For tests: a small `/batch/` endpoint that misbehaves as told and remembers what it said it keeps. */
export async function startEndpoint(behave: Behaviour): Promise<{
  readonly url: string;
  readonly kept: Readonly<Record<string, unknown>>[];
  readonly batches: ReceivedBatch[];
  readonly paths: string[];
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const kept: Readonly<Record<string, unknown>>[] = [];
  const batches: ReceivedBatch[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    void readBatch(request).then((batch) => {
      if (batch === undefined) return respond(response, { status: 404 });
      if (batch.batch.length === 0) return respond(response, { status: 400, body: { detail: 'no event' } });
      batches.push(batch);
      paths.push(request.url ?? '');
      const answer = behave(batch, batches.length);
      if (answer === 'reset') return request.socket.resetAndDestroy();
      if (answer === 'keep' || answer.keep === true) kept.push(...batch.batch);
      return respond(response, answer === 'keep' ? { status: 200, body: { status: 'Ok' } } : answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    kept,
    batches,
    paths,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function respond(
  response: ServerResponse,
  { status, headers, body }: { status: number; headers?: Readonly<Record<string, string>>; body?: unknown },
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body === undefined ? '' : JSON.stringify(body));
}

/** Undefined: the request is no batch. */
async function readBatch(request: IncomingMessage): Promise<ReceivedBatch | undefined> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  if (request.url?.endsWith('/batch/') !== true) return undefined;
  return JSON.parse(plain(request, Buffer.concat(parts)).toString('utf8')) as ReceivedBatch;
}

function plain({ headers }: IncomingMessage, body: Buffer): Buffer {
  return headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
}
