import type { IncomingHttpHeaders } from 'node:http';
import { parse } from 'node:querystring';
import { Readable } from 'node:stream';
import { hasBody } from './access.ts';
import { apiHeaders, readyToSend, type AnsweredRoute } from './answer-route.ts';
import { compressAnswer } from './compress-answers.ts';
import type { DirectAnswer, DirectDeps, DirectRequest, DirectRoute } from './direct.ts';
import type { FindPath, FoundPath } from './find-path.ts';
import type { RouteRequest } from './route-request.ts';

export interface DirectReadsDeps {
  /** @throws ApiError for a host that is not this service */
  readonly checkHost: (request: Pick<RouteRequest, 'headers' | 'host'>) => void;
  readonly trustsProxy: boolean;
}

/** Escapes may have another meaning in the framework, which then handles the request. */
const usualPath = /^[\w/@-]{1,1000}$/;
const usualQuery = /^[\w=&+.,:@-]{0,1000}$/;

/** Finds routes with `isReadOften` for GET requests in the usual form of programs and the console. */
export function findReads(findPath: FindPath<AnsweredRoute>, deps: DirectReadsDeps): DirectDeps['find'] {
  return (raw, path) => {
    if (raw.method !== 'GET' || hasBody(raw.headers) || !usualPath.test(path)) return undefined;
    const query = (raw.url ?? '').slice(path.length + 1);
    if (!usualQuery.test(query)) return undefined;
    const found = findPath(path);
    const answered = found?.byMethod.get('GET');
    if (found === undefined || answered?.route.isReadOften !== true) return undefined;
    return readOf(found, answered, query, deps);
  };
}

function readOf(
  { pattern: route, params }: FoundPath<AnsweredRoute>,
  answered: AnsweredRoute,
  query: string,
  { checkHost, trustsProxy }: DirectReadsDeps,
): DirectRoute {
  const handle = async (given: DirectRequest, also: Record<string, string>): Promise<DirectAnswer> => {
    const { id, method, url, ip, headers } = given;
    const { host, protocol } = originOf(headers, trustsProxy);
    const request: RouteRequest = { id, method, url, ip, host, protocol, headers, params, query: parse(query) };
    checkHost(request);
    Object.assign(also, apiHeaders);
    const access = await answered.checkAccess(request, also);
    const { status, headers: own, body } = readyToSend(await answered.answer(request, access, {}));
    if (body instanceof Readable) throw new Error(`expected ${route} to answer with text or bytes, got a stream`);
    return compressAnswer({ status, headers: own, body }, headers['accept-encoding']);
  };
  return { route, handle };
}

/** As determined by Fastify: of lists that proxies append to, the last item counts. */
function originOf(headers: IncomingHttpHeaders, trustsProxy: boolean): Pick<RouteRequest, 'host' | 'protocol'> {
  const { host = '' } = headers;
  if (!trustsProxy) return { host, protocol: 'http' };
  return { host: lastOf(headers['x-forwarded-host'], host), protocol: lastOf(headers['x-forwarded-proto'], 'http') };
}

function lastOf(header: string | string[] | undefined, otherwise: string): string {
  const text = String(header ?? '');
  return text === '' ? otherwise : text.slice(text.lastIndexOf(',') + 1).trim();
}
