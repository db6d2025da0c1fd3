import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { ApiError } from '../../wire/contract/errors.ts';
import { livePaths, readyPaths } from './health.ts';

export interface StartingServer {
  /**
   * Passes the socket of this server to the next `listen` of `next`, so that no connection is refused in between. Connections that are
   * open here are answered by `next` from then on, once each.
   */
  handOverTo(next: Server): void;
  /** Closes the connections, and the port with them unless it was handed over. Can be called repeatedly. */
  close(): Promise<void>;
}

const retryAfterSeconds = 2;

/**
 * Answers while the stores are opened and migrated, which may take longer than a supervisor waits for a first sign of life: the
 * process is alive and not ready, and any other request is answered with 503. Throws errors of listening on the port.
 */
export async function startStartingServer(place: { host: string; port: number }): Promise<StartingServer> {
  let next: Server | undefined;
  const server = createServer((request, response) => {
    // The service takes over the port: no client may keep a connection to this server.
    response.setHeader('connection', 'close');
    if (next?.listening === true) {
      next.emit('request', request, response);
      return;
    }
    const path = (request.url ?? '').replace(/[?#].*$/s, '').replace(/(.)\/$/, '$1');
    const isLive = livePaths.includes(path);
    const isProbe = isLive || readyPaths.includes(path);
    const retry = isProbe ? {} : { 'retry-after': String(retryAfterSeconds) };
    response.writeHead(isLive ? 200 : 503, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...retry,
    });
    response.end(JSON.stringify(isLive ? { status: 'ok', starting: true } : isProbe ? notReady : starting.body()));
  });
  server.listen(place);
  await once(server, 'listening');
  let closing: Promise<void> | undefined;
  return {
    handOverTo(service) {
      next = service;
      listenOnceOn(service, server);
    },
    close: () => (closing ??= closed(server)),
  };
}

/** Makes the next `listen` use the existing socket; callers of `listen` pass addresses. */
function listenOnceOn(server: Server, owner: Server): void {
  server.listen = () => {
    // The property that was set here hides the method of its class.
    Reflect.deleteProperty(server, 'listen');
    return server.listen(owner);
  };
}

/** The format of /readyz?verbose. */
const notReady = {
  status: 'unavailable',
  starting: true,
  checks: { process: { ok: false, detail: 'The service is starting.' } },
} as const;
const starting = new ApiError('unavailable', 'The service is starting. Try again in a few seconds.');

async function closed(server: Server): Promise<void> {
  const gone = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await gone;
}
