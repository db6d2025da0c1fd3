import { Readable } from 'node:stream';
import type { TObject } from 'typebox';
import { strictJson } from '../../base/strict-json.ts';
import { checkAccess, checkAccessAgain, type Access, type AccessDeps } from './access.ts';
import type { ApiReply, ApiRequest, ApiRoute, Principal, ProjectRef, UploadedFile, UploadStream } from './api-route.ts';
import type { ParsedBody } from './body.ts';
import { queryWithoutKey } from './credentials.ts';
import { requestOrigin } from './request-origin.ts';
import { pathOf, type RouteRequest } from './route-request.ts';
import { unknownFieldsHeaders } from './unknown-fields.ts';
import { compileCheck, type Check } from './validation.ts';

export interface AnswerDeps extends AccessDeps {
  /** Aborted when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** What came with a request beside its head. */
export interface GivenBody {
  readonly body?: ParsedBody | undefined;
  readonly upload?: () => Promise<UploadStream>;
  /** See ApiRequest. */
  readonly gone?: () => AbortSignal;
}

/** One route as checks and a handler, whoever took the request. */
export interface AnsweredRoute {
  readonly route: ApiRoute;
  /**
   * Null for public routes; throws ApiError as `checkAccess` of access.ts does.
   * @param also takes headers that go with every answer
   */
  checkAccess(request: RouteRequest, also: Record<string, string>, body?: ParsedBody): Promise<Access | null>;
  /** Validates what was given, then calls the handler. */
  answer(request: RouteRequest, access: Access | null, given: GivenBody): Promise<ApiReply>;
}

/** Of every answer of the API. */
export const apiHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

const noFiles: ReadonlyMap<string, UploadedFile> = new Map();

export function answerRoute(route: ApiRoute, deps: AnswerDeps): AnsweredRoute {
  const checks = compileChecks(route);
  const isPublic = route.scope === 'public';
  return {
    route,
    checkAccess: (request, also, body) =>
      isPublic ? Promise.resolve(null) : checkAccess(deps, route, request, also, body),
    async answer(request, access, { body, upload, gone }) {
      const query = checks.query === undefined ? request.query : checks.query(request.query, 'text');
      const params = checks.params === undefined ? request.params : checks.params(request.params, 'text');
      const given = body === undefined ? {} : body.value;
      const checked = checks.body === undefined ? given : checks.body(given, body?.source ?? 'json');
      const checkAgain = async (): Promise<void> => {
        if (access !== null) await checkAccessAgain(deps, route, access, request.ip);
      };
      const files = body?.files ?? noFiles;
      const input = {
        params,
        query,
        body: checked,
        files,
        checkAgain,
        ...(upload && { upload }),
        ...(gone && { gone }),
      };
      const reply = await route.handler(toApiRequest(request, access, deps, input));
      return route.namesUnknownFields === true ? namingUnknown(route, checked, reply) : reply;
    },
  };
}

function namingUnknown({ body }: ApiRoute, given: unknown, reply: ApiReply): ApiReply {
  const taken = Object.keys((body as TObject | undefined)?.properties ?? {});
  return { ...reply, headers: { ...reply.headers, ...unknownFieldsHeaders(given, taken, reply.body) } };
}

interface Checks {
  readonly params: Check | undefined;
  readonly query: Check | undefined;
  readonly body: Check | undefined;
}

function compileChecks(route: ApiRoute): Checks {
  return {
    params: route.params && compileCheck(route.params, 'params'),
    query: route.query && compileCheck(route.query, 'query'),
    body: route.body && compileCheck(route.body, 'body'),
  };
}

type Checked = Pick<ApiRequest, 'params' | 'query' | 'body' | 'files' | 'upload' | 'checkAgain' | 'gone'>;

function toApiRequest(request: RouteRequest, access: Access | null, deps: AnswerDeps, checked: Checked): ApiRequest {
  const { id: requestId, method, headers } = request;
  return {
    ...checked,
    requestId,
    method,
    headers,
    stopping: deps.stopping,
    get principal(): Principal {
      if (access === null) throw new Error('expected a route with a scope: a public route has no principal');
      return access.principal;
    },
    project(): ProjectRef {
      if (access?.project === undefined) throw new Error('expected a path with :project_id, got none');
      return access.project;
    },
    get url(): string {
      return requestOrigin(request, deps.siteUrl) + pathOf(request.url);
    },
    get rawQuery(): string {
      const start = request.url.indexOf('?');
      return start === -1 ? '' : queryWithoutKey(request.url.slice(start + 1));
    },
  };
}

export interface ReadyReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly body: string | Uint8Array | Readable | undefined;
}

/** JSON, unless the handler names another content type for the text or bytes that it gives. */
export function readyToSend({ status, headers = {}, body }: ApiReply): ReadyReply {
  if (body === undefined || body instanceof Readable) return { status, headers, body };
  const isText = typeof body === 'string' || body instanceof Uint8Array;
  const ownType = headers['content-type'];
  if (isText && ownType !== undefined) {
    const isJson = typeof body === 'string' && ownType.startsWith('application/json');
    return { status, headers, body: isJson ? strictJson(body) : body };
  }
  const type = { 'content-type': 'application/json; charset=utf-8' };
  return { status, headers: { ...headers, ...type }, body: strictJson(JSON.stringify(body)) };
}
