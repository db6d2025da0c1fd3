import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface RestlessProxy {
  readonly url: string;
  /** How often it did what. */
  readonly did: Record<string, number>;
  close(): Promise<void>;
}

const bodyBytesMax = 60_000;

/** Stands before a service and is in a bad mood: a third of the requests to `/batch/` goes wrong, one way or another. */
export async function startProxy(target: string): Promise<RestlessProxy> {
  const did: Record<string, number> = {};
  const note = (what: string): void => void (did[what] = (did[what] ?? 0) + 1);
  const server = createServer((request, response) => {
    void answer(request, response).catch((error: unknown) => {
      note(String(error).slice(0, 60));
      response.destroy();
    });
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
    const mood = request.url?.startsWith('/batch') === true ? Math.random() : 1;
    if (mood < 0.08) return refuse(response, 429, { 'retry-after': '1' });
    if (mood < 0.16) return refuse(response, 503, {});
    if (mood < 0.22) return reset(response, 'reset before');
    if (body.length > bodyBytesMax && mood < 0.6) return refuse(response, 413, {});
    const passed = await pass(request, body);
    if (mood < 0.3) return reset(response, 'reset after');
    note('passed');
    response.writeHead(passed.status, { 'content-type': passed.headers.get('content-type') ?? 'application/json' });
    response.end(Buffer.from(await passed.arrayBuffer()));
  }
  function refuse(response: ServerResponse, status: number, headers: Record<string, string>): void {
    note(String(status));
    response.writeHead(status, headers);
    response.end('{"type":"server_error","code":"unavailable","detail":"In a bad mood."}');
  }
  function reset(response: ServerResponse, what: string): void {
    note(what);
    response.socket?.resetAndDestroy();
  }
  function pass(request: IncomingMessage, body: Buffer<ArrayBuffer>): Promise<Response> {
    const headers = new Headers();
    for (const name of ['authorization', 'content-type', 'content-encoding', 'accept']) {
      const value = request.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    const { method = 'GET' } = request;
    return fetch(`${target}${request.url}`, { method, headers, ...(body.length === 0 ? {} : { body }) });
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    did,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
