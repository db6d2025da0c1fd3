import { request as requestHttp } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { isNotTls, networkFault } from '../base/network-fault.ts';
import { parseExactValues } from '../base/exact-json.ts';
import { CommandError } from './exit-codes.ts';

export type ApiQuery = Readonly<Record<string, string | undefined>>;

export interface SendOptions {
  /** `updated_at` of the config as it was read: the request is refused when it has changed since. */
  readonly ifMatch?: string | undefined;
}

type WritingMethod = 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** The management API as the commands use it, over HTTP or in this process. Errors: CommandError with the exit code that fits. */
export interface Api {
  get<T>(path: string, query?: ApiQuery): Promise<T>;
  /** Resolves to `undefined` when the response has no body. A form is sent as multipart, anything else as JSON. */
  send<T>(method: WritingMethod, path: string, body?: unknown, more?: SendOptions): Promise<T>;
}

/** The management API of a running service. */
export interface ApiClient extends Api {
  readonly url: string;
  /** Returns a response that is not JSON or has no end, as a stream that `signal` ends. */
  open(path: string, accept: string, signal: AbortSignal): Promise<Response>;
}

const timeoutMs = 60_000;

/**
 * @param url of the service, with or without a trailing slash
 * @param apiKey personal key (phx_…); without one only public paths work
 */
export function createApiClient(url: string, apiKey: string | undefined): ApiClient {
  const base = checkedUrl(url);
  const call = async <T>(method: string, path: string, body?: unknown, { ifMatch }: SendOptions = {}): Promise<T> => {
    const headers: Record<string, string> = { accept: 'application/json' };
    if (apiKey !== undefined) headers['authorization'] = `Bearer ${apiKey}`;
    if (ifMatch !== undefined) headers['if-match'] = `"${ifMatch}"`;
    // Naming FormData without a body would load `fetch`.
    const isForm = body !== undefined && body instanceof FormData;
    if (body !== undefined && !isForm) headers['content-type'] = 'application/json';
    const request = { method, headers, signal: AbortSignal.timeout(timeoutMs) };
    const url = `${base}${path}`;
    const answer = await reached(url, () =>
      isForm ? sendForm(url, { ...request, body }) : sendText(url, { ...request, body: jsonText(body) }),
    );
    if (!isFine(answer)) throw errorOf(answer, apiKey !== undefined);
    return parseAnswer(url, answer) as T;
  };
  return {
    url: base,
    get: (path, query) => call('GET', `${path}${queryString(query)}`),
    send: (method, path, body, more) => call(method, path, body, more),
    open: async (path, accept, signal) => {
      const headers = { accept, ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }) };
      const url = `${base}${path}`;
      const response = await reached(url, () => fetch(url, { headers, redirect: 'manual', signal }));
      if (!response.ok) throw errorOf(await answerOf(response), apiKey !== undefined);
      return response;
    },
  };
}

/** Returns the address without trailing slashes. Errors: usage, when it is not http(s). */
export function checkedUrl(url: string, option = '--url'): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    const withScheme = `http://${url}`;
    const hint = url.includes('://') || !URL.canParse(withScheme) ? '' : `; did you mean ${withScheme}?`;
    const example = 'expected an address such as http://127.0.0.1:8000';
    throw new CommandError('usage', `${option}: ${example}, got: ${url}${hint}`);
  }
  return url.replace(/\/+$/, '');
}

function jsonText(body: unknown): string | undefined {
  return body === undefined ? undefined : JSON.stringify(body);
}

interface TextRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

interface ServiceAnswer {
  readonly status: number;
  readonly statusText: string;
  /** Returns the header of a lower-case name, or `undefined`. */
  header(name: string): string | undefined;
  readonly text: string;
}

/** Uses Node's own client: loading `fetch` takes a quarter of the CPU time of a short command. Follows no redirects. */
async function sendText(url: string, { method, headers, body, signal }: TextRequest): Promise<ServiceAnswer> {
  // TLS takes a while to load.
  const request = url.startsWith('https:') ? (await import('node:https')).request : requestHttp;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, signal }, (answer) => {
      const { statusCode: status = 0, statusMessage: statusText = '', headers: got } = answer;
      const header = (name: string): string | undefined => got[name]?.toString();
      textOf(answer).then((text) => resolve({ status, statusText, header, text }), reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function sendForm(url: string, request: RequestInit): Promise<ServiceAnswer> {
  return answerOf(await fetch(url, { ...request, redirect: 'manual' }));
}

async function answerOf(response: Response): Promise<ServiceAnswer> {
  const { status, statusText, headers } = response;
  const header = (name: string): string | undefined => headers.get(name) ?? undefined;
  return { status, statusText, header, text: await response.text() };
}

function isFine({ status }: ServiceAnswer): boolean {
  return status >= 200 && status < 300;
}

async function reached<T>(url: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    const { origin } = new URL(url);
    const fault = networkFault(cause);
    const advice = isNotTls(fault)
      ? `it does not speak TLS: use ${origin.replace('https:', 'http:')}`
      : 'is "millrace serve" running?';
    throw new CommandError('unreachable', `cannot reach ${origin} (${fault}); ${advice}`, { cause });
  }
}

export function queryString(query: ApiQuery = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

function parseAnswer(url: string, { text, header }: ServiceAnswer): unknown {
  if (text === '') return undefined;
  try {
    return parseExactValues(text);
  } catch {
    const type = header('content-type') ?? 'no content type';
    throw new CommandError('failed', `expected JSON from ${url}, got ${type}; is this the address of Millrace?`);
  }
}

/** Says how to create a key with the scope that the refused one lacks. */
function scopeAdvice(detail: string): string {
  const scope = /missing required scope '([\w:]+)'/.exec(detail)?.[1];
  return scope === undefined ? '' : `; "millrace keys create --scope ${scope}" creates one with it`;
}

function errorOf({ status, statusText, header, text }: ServiceAnswer, withKey: boolean): CommandError {
  const detail = detailOf(text) ?? statusText;
  const requestId = header('x-request-id');
  const where = requestId === undefined ? '' : ` (request ${requestId})`;
  if (status === 401 && !withKey) {
    return new CommandError(
      'auth',
      `${detail} Give --api-key, MILLRACE_API_KEY or --profile; "millrace keys create" creates one.`,
    );
  }
  if (status === 401 || status === 403) return new CommandError('auth', `${detail}${scopeAdvice(detail)}${where}`);
  if (status === 404) return new CommandError('notFound', `${detail}${where}`, { status });
  if (status === 429) {
    const wait = header('retry-after');
    const seconds = wait !== undefined && /^\d{1,6}$/.test(wait) ? Number(wait) : undefined;
    const sentence = `${detail}${wait === undefined ? '' : ` Try again in ${wait} s.`}${where}`;
    return new CommandError('rateLimited', sentence, { waitSeconds: seconds });
  }
  if (status >= 500) return new CommandError('unreachable', `${status}: ${detail}${where}`);
  return new CommandError('failed', `${status}: ${detail}${where}`, { status });
}

/** Returns the message of an error body `{type, code, detail, attr}`, with the field at fault. */
export function detailOf(text: string): string | undefined {
  try {
    const { detail, attr, errors } = JSON.parse(text) as { detail?: unknown; attr?: unknown; errors?: unknown };
    if (Array.isArray(errors) && errors.length > 1) return errors.map((each) => fieldDetail(each)).join(' ');
    return typeof detail === 'string' ? fieldDetail({ detail, attr }) : undefined;
  } catch {
    return text.trim() === '' || text.startsWith('<') ? undefined : text.trim().slice(0, 500);
  }
}

function fieldDetail(error: unknown): string {
  const { detail, attr } = error as { detail?: unknown; attr?: unknown };
  return typeof attr === 'string' && attr !== '' ? `${attr}: ${String(detail)}` : String(detail);
}
