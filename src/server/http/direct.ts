import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { isHostClear } from './check-host.ts';
import { errorAnswer } from './error-answer.ts';
import { keepTrustedAddress } from './forwarded-address.ts';
import { createNoteAnswer } from './note-answer.ts';
import { requestIdOf } from './request-id.ts';
import { pathOf, type RouteRequest } from './route-request.ts';

/** The parts of a request that a directly answered route needs; Fastify's requests have all of them. */
export type DirectRequest = Pick<RouteRequest, 'id' | 'method' | 'url' | 'ip' | 'headers'> & {
  readonly raw: IncomingMessage;
};

export interface DirectAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `undefined` for no body. */
  readonly body?: string | Uint8Array | undefined;
}

export interface DirectRoute {
  /** The pattern of its path, as in the framework. */
  readonly route: string;
  /** Thrown errors are answered like all others. It may add headers for every response to `also`. */
  readonly handle: (request: DirectRequest, also: Record<string, string>) => Promise<DirectAnswer>;
}

export interface DirectDeps {
  /** Returns `undefined` if the request is for another route or unusual. @param path as in the request URL */
  readonly find: (raw: IncomingMessage, path: string) => DirectRoute | undefined;
  readonly trustsProxy: boolean;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * Answers requests of some routes from Node's server before the framework handles them: for small ones its life cycle is a third
 * of the work. The same routes must be registered with the app: unusual requests, and all once the server is stopping, are left
 * to it, with the same response.
 */
export function answerDirectly(app: FastifyInstance, { find, trustsProxy, log, metrics }: DirectDeps): void {
  const noteAnswer = createNoteAnswer({ log, metrics });
  let isClosing = false;
  app.addHook('preClose', (done) => {
    isClosing = true;
    done();
  });
  const { server } = app;
  const others = server.listeners('request') as ((raw: IncomingMessage, response: ServerResponse) => void)[];
  const answer = async (found: DirectRoute, raw: IncomingMessage, response: ServerResponse, ip: string) => {
    const startedAt = performance.now();
    const { route, handle } = found;
    const { headers, url = '', method = '' } = raw;
    const id = requestIdOf(raw);
    const also: Record<string, string> = { 'x-request-id': id };
    response.once('finish', () => {
      const ms = performance.now() - startedAt;
      noteAnswer({ requestId: id, method, route, status: response.statusCode, ms });
    });
    let given: DirectAnswer;
    try {
      given = await handle({ id, method, url, ip, headers, raw }, also);
    } catch (error) {
      given = errorAnswer(error, { raw, id, method, route }, log);
    }
    if (response.destroyed) return;
    Object.assign(also, given.headers);
    if (given.body !== undefined) also['content-length'] = String(Buffer.byteLength(given.body));
    if (isClosing) also['connection'] = 'close';
    response.writeHead(given.status, also);
    response.end(given.body);
  };
  server.removeAllListeners('request');
  server.on('request', (raw: IncomingMessage, response: ServerResponse) => {
    const found = isClosing ? undefined : find(raw, pathOf(raw.url ?? ''));
    if (trustsProxy) keepTrustedAddress(raw);
    const ip = (trustsProxy && String(raw.headers['x-forwarded-for'] ?? '')) || raw.socket.remoteAddress;
    if (found === undefined || ip === undefined || !isHostClear(raw)) {
      for (const listener of others) listener.call(server, raw, response);
      return;
    }
    answer(found, raw, response, ip).catch((error: unknown) => {
      log.error({ err: error, route: found.route }, 'failed to write response');
      response.destroy();
    });
  });
}
