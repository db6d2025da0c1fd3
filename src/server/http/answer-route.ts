import { Readable } from 'node:stream';
import type { TObject, TSchema } from 'typebox';
import { strictJson } from '../../base/strict-json.ts';
import { checkAccess, checkAccessAgain, type Access, type AccessDeps } from './access.ts';
import type { ApiReply, ApiRequest, ApiRoute, Principal, ProjectRef, UploadedFile, UploadStream } from './api-route.ts';
import type { ParsedBody } from './body.ts';
import { queryWithoutKey } from './credentials.ts';
import { requestOrigin } from './request-origin.ts';
import { pathOf, type RouteRequest } from './route-request.ts';
import { unknownFieldsHeaders } from './unknown-fields.ts';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { canonicalUuid } from '../../base/uuids.ts';
import { fieldErrors, type FieldError } from '../../wire/contract/errors.ts';
import { compileCoercion, type SchemaShape, type ValueSource } from './coerce.ts';
import { fieldErrorOf } from './field-errors.ts';

export interface AnswerDeps extends AccessDeps {
  /** Aborted when the server starts to stop. */
  readonly stopping: AbortSignal;
}

/** Content of a request besides its head. */
export interface GivenBody {
  readonly body?: ParsedBody | undefined;
  readonly upload?: () => Promise<UploadStream>;
  /** See ApiRequest. */
  readonly gone?: () => AbortSignal;
}

/** A route's checks and handler, independent of the server that received the request. */
export interface AnsweredRoute {
  readonly route: ApiRoute;
  /**
   * `null` for public routes; throws ApiError as `checkAccess` of access.ts does.
   * @param also receives headers for every response
   */
  checkAccess(request: RouteRequest, also: Record<string, string>, body?: ParsedBody): Promise<Access | null>;
  /** Validates the input, then calls the handler. */
  answer(request: RouteRequest, access: Access | null, given: GivenBody): Promise<ApiReply>;
}

/** Headers of every API response. */
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
  /** `undefined` for no body. */
  readonly body: string | Uint8Array | Readable | undefined;
}

/** Serialises to JSON, unless the handler sets another content type for text or bytes. */
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

/** Maximum of errors in one response. */
const errorsMax = 20;

const timeForm = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/;
const formats = {
  uuid: (text: string) => canonicalUuid(text) !== undefined,
  'date-time': (text: string) => timeForm.test(text) && !Number.isNaN(Date.parse(text.replace(' ', 'T'))),
  date: (text: string) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  email: /^[^\s@]+@[^\s@]+$/,
  uri: (text: string) => URL.canParse(text),
};

// Defaults are only applied to queries: in a body they would turn a partial update into a full one.
const common = { allErrors: true, strict: false, verbose: true, formats } as const;
const forBodies = new Ajv2020(common);
const forQueries = new Ajv2020({ ...common, useDefaults: true });

type Check = (value: unknown, source: ValueSource) => unknown;

/**
 * Compiles a schema into a check that returns the value for the handler, or throws ApiError with every invalid field.
 * Unknown fields are kept; handlers only read what they declared.
 */
export function compileCheck(schema: TSchema, part: 'body' | 'query' | 'params'): Check {
  // On the first request: compiling the checks of all routes would take half a second of every start.
  let validate: ValidateFunction | undefined;
  const coerce = compileCoercion(schema as SchemaShape);
  return (value, source) => {
    validate ??= (part === 'query' ? forQueries : forBodies).compile(withUnknownFields(schema));
    const coerced = coerce === undefined ? value : coerce(value, source);
    if (!validate(coerced)) throw toFieldErrors(validate.errors ?? []);
    return coerced;
  };
}

function toFieldErrors(errors: readonly ErrorObject[]): Error {
  const found: FieldError[] = [];
  const seen = new Set<string | null>();
  for (const error of withoutLostBranches(errors)) {
    const fieldError = fieldErrorOf(error);
    if (seen.has(fieldError.attr)) continue;
    seen.add(fieldError.attr);
    found.push(fieldError);
    if (found.length === errorsMax) break;
  }
  const [first, ...rest] = found;
  return fieldErrors([first ?? { code: 'invalid_input', detail: 'Invalid input.', attr: null }, ...rest]);
}

/**
 * A value that fits no branch of a union has one error per branch and one for the union. The relevant one is that of the branch
 * that is not null; if branches differ in more than that, only the union's own error is reported.
 */
function withoutLostBranches(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const unions = errors.filter((error) => error.keyword === 'anyOf');
  if (unions.length === 0) return errors;
  const dropped = new Set<ErrorObject>();
  for (const union of unions) {
    const branches: readonly SchemaShape[] = Array.isArray(union.schema) ? union.schema : [];
    const single = branches.filter((branch) => branch.type !== 'null').length === 1;
    const inside = errors.filter((error) => error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`));
    const telling = inside.filter((error) => error.params['type'] !== 'null');
    const lost = single && telling.length > 0 ? [union, ...inside.filter((e) => !telling.includes(e))] : inside;
    for (const error of lost) dropped.add(error);
  }
  return errors.filter((error) => !dropped.has(error));
}

/** `additionalProperties: false` documents a shape, and never makes a request fail. */
function withUnknownFields(schema: unknown): Record<string, unknown> {
  return relax(schema) as Record<string, unknown>;
}

function relax(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(relax);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).filter(([key, value]) => !(key === 'additionalProperties' && value === false));
  return Object.fromEntries(entries.map(([key, value]) => [key, relax(value)]));
}
