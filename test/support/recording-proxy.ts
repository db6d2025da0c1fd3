import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

export interface RecordedRequest {
  readonly path: string;
  /** Decompressed JSON of a POST. */
  readonly body: Readonly<Record<string, unknown>>;
  /** When it arrived, ms since the epoch. */
  readonly at: number;
}

export interface RecordingProxy extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
}

/** Forwards requests unchanged, host included, and records the bodies of those that are accepted. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const requests: RecordedRequest[] = [];
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => void forward(incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray());
    const at = Date.now();
    const { method, url: path = '/', headers } = incoming;
    const onward = request({ hostname, port, method, path, headers }, (answer) => {
      if (method === 'POST' && answer.statusCode === 200) requests.push({ path, body: parse(body), at });
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', (error) => outgoing.destroy(error));
    onward.end(body);
  }
}

function parse(body: Buffer): RecordedRequest['body'] {
  const isGzip = body[0] === 0x1f && body[1] === 0x8b;
  return JSON.parse((isGzip ? gunzipSync(body) : body).toString()) as RecordedRequest['body'];
}
