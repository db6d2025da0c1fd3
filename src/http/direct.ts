import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Log } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { isHostClear } from './check-host.ts';
import { originHeaders } from './cors.ts';
import { errorAnswer } from './error-answer.ts';
import { createNoteAnswer } from './note-answer.ts';
import { requestIdOf } from './request-id.ts';

/** What a route needs of a request that it answers itself; Fastify's requests have all of it. */
export interface DirectRequest {
  readonly id: string;
  readonly url: string;
  /** Of the sender; empty once it has gone. */
  readonly ip: string;
  readonly headers: IncomingMessage['headers'];
  readonly raw: IncomingMessage;
}

export interface DirectAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly body?: string;
}

export interface DirectRoutes {
  /** Paths of POST requests, as they stand in the address. */
  readonly paths: readonly string[];
  /** What it throws is answered as any error is. It may add headers that go with every answer to `also`. */
  readonly handle: (request: DirectRequest, also: Record<string, string>) => Promise<DirectAnswer>;
  readonly trustsProxy: boolean;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Bodies that a route reads itself have no type that matters; others than these go the long way, where odd ones are refused. */
const usualTypes = new Set([
  undefined,
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=utf-8',
  'application/json;charset=UTF-8',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/plain;charset=UTF-8',
]);

/**
 * Answers requests of some paths from Node's own server, before the framework has made anything of them: for single events its
 * life cycle is a third of the work. The same routes have to be registered with the app: whatever is unusual about a request, and
 * everything once the server is stopping, goes to it, and gets the same answer.
 */
export function answerDirectly(app: FastifyInstance, { paths, handle, trustsProxy, log, metrics }: DirectRoutes): void {
  const patterns = new Map(paths.map((path) => [path, path.endsWith('/') ? path.slice(0, -1) : path]));
  const noteAnswer = createNoteAnswer({ log, metrics });
  let isClosing = false;
  app.addHook('preClose', (done) => {
    isClosing = true;
    done();
  });
  const { server } = app;
  const framework = server.listeners('request') as ((raw: IncomingMessage, response: ServerResponse) => void)[];
  const answer = async (raw: IncomingMessage, response: ServerResponse, route: string, ip: string): Promise<void> => {
    const startedAt = performance.now();
    const { headers, url = '', method = '' } = raw;
    const id = requestIdOf(raw);
    const also: Record<string, string> = { 'x-request-id': id, ...originHeaders(headers) };
    response.once('finish', () => {
      const ms = performance.now() - startedAt;
      noteAnswer({ requestId: id, method, route, status: response.statusCode, ms });
    });
    let found: DirectAnswer;
    try {
      found = await handle({ id, url, ip, headers, raw }, also);
    } catch (error) {
      found = errorAnswer(error, { raw, id, method, route }, log);
    }
    if (response.destroyed) return;
    Object.assign(also, found.headers);
    if (found.body !== undefined) also['content-length'] = String(Buffer.byteLength(found.body));
    if (isClosing) also['connection'] = 'close';
    response.writeHead(found.status, also);
    response.end(found.body);
  };
  server.removeAllListeners('request');
  server.on('request', (raw: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = raw;
    const query = url.indexOf('?');
    const route = patterns.get(query < 0 ? url : url.slice(0, query));
    const isUsual = raw.method === 'POST' && usualTypes.has(raw.headers['content-type']) && isHostClear(raw);
    const ip = trustsProxy ? forwardedIp(raw) : raw.socket.remoteAddress;
    if (route === undefined || !isUsual || ip === undefined || isClosing) {
      for (const listener of framework) listener.call(server, raw, response);
      return;
    }
    answer(raw, response, route, ip).catch((error: unknown) => {
      log.error({ err: error, route }, 'an answer could not be written');
      response.destroy();
    });
  });
}

/** Of the client that the first proxy names; undefined: it is no plain address. */
function forwardedIp({ headers, socket }: IncomingMessage): string | undefined {
  const forwarded = headers['x-forwarded-for'];
  if (forwarded === undefined) return socket.remoteAddress;
  return typeof forwarded === 'string' ? /^ *([0-9a-f.:]+) *(?:,|$)/i.exec(forwarded)?.[1] : undefined;
}
