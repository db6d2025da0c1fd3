import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** What was asked for, e.g. `GET /x`. */
  readonly seen: string[];
  readonly requests: IncomingMessage[];
  /** Connections that were made. */
  readonly connections: () => number;
}

/** A real server on a loopback address that answers as `answer` says. */
export async function testServer(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  host = '127.0.0.1',
): Promise<TestServer> {
  const seen: string[] = [];
  const requests: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    requests.push(request);
    answer(request, response);
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  // Sound: a server that listens on a port has an AddressInfo.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    seen,
    requests,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
