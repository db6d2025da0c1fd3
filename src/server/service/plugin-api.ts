import type { Readable } from 'node:stream';
import { dayMs } from '../../base/time.ts';
import { isoMicros, type Clock } from '../../base/clock.ts';
import type { GrantedScope } from '../../wire/contract/scopes.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { createPersonalApiKey, deletePersonalApiKey } from '../../stores/metadata/personal-api-keys.ts';
import { firstAdmin } from '../../stores/metadata/users.ts';
import type { OutboundResponse } from '../../plugins/outbound/outbound.ts';
import type { ApiCall } from '../../plugins/sandbox/sandbox.ts';

/** A request to this service's API without a network. */
export type Inject = (request: {
  readonly method: ApiCall['method'];
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly payload?: string;
  /** The response arrives with its head; a body that is not read is never produced. */
  readonly payloadAsStream: true;
}) => Promise<{
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: Readonly<Record<string, unknown>>;
  stream(): Readable;
  /** Destroying it signals that the client stops reading. */
  readonly raw: { readonly res: { destroy(): void } };
}>;

/** Scopes of `posthog.api` when a plugin has no key: read access to its project. */
const scopes: readonly GrantedScope[] = ['person:read', 'group:read', 'query:read', 'plugin:read', 'project:read'];
/** Per response, and for concurrent calls of a project. */
const answerBytesMax = 16 * 1024 * 1024;
const atOnceMax = 4;
/** Headers that a plugin may set; others describe how the request arrived. */
const ownHeaders = new Set(['accept', 'authorization', 'content-type', 'idempotency-key', 'if-match', 'prefer']);
/** A key is replaced well before it expires. */
const renewMs = dayMs / 2;

interface IssuedKey {
  readonly value: string;
  readonly id: string;
  readonly userId: number;
  /** ms since the epoch. */
  readonly issuedAt: number;
}

/**
 * `posthog.api` without a host: requests to this service with a key of the project's plugins, which is created on first use, may
 * only read that project, expires after a day, and is removed when the service stops.
 */
export interface PluginApi {
  call(projectId: number, request: ApiCall): Promise<OutboundResponse>;
  close(): Promise<void>;
}

export function createPluginApi(deps: {
  readonly db: Metadata;
  readonly clock: Clock;
  readonly inject: Inject;
}): PluginApi {
  const { db, clock, inject } = deps;
  const keys = new Map<number, Promise<IssuedKey>>();
  const atWork = new Map<number, number>();

  const start = (projectId: number): Promise<IssuedKey> => {
    const made = makeKey(db, projectId, clock.now());
    keys.set(projectId, made);
    made.catch(() => keys.delete(projectId));
    return made;
  };
  const keyOf = async (projectId: number): Promise<string> => {
    const current = keys.get(projectId) ?? start(projectId);
    const issued = await current;
    if (clock.now() - issued.issuedAt < renewMs) return issued.value;
    // Another call has replaced it in the meantime.
    if (keys.get(projectId) !== current) return keyOf(projectId);
    const { value } = await start(projectId);
    await deletePersonalApiKey(db, issued.userId, issued.id);
    return value;
  };

  /** Used when our key was revoked, or its user deleted. */
  const keyInsteadOf = async (projectId: number, refused: string): Promise<string> => {
    // Unless another call has noticed it already.
    if ((await keyOf(projectId)) === refused) keys.delete(projectId);
    return keyOf(projectId);
  };

  return {
    call: async (projectId, { method, path, headers: given, body }) => {
      const url = apiUrl(path, projectId);
      if (url === undefined) return refusal(path, 403, notApi);
      const release = takeTurn(atWork, projectId);
      if (release === undefined) return refusal(url, 429, tooMany);
      try {
        const headers = ownHeadersOf(given);
        const ask = (key: string | undefined) =>
          inject({
            method,
            url,
            headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
            ...(body === null ? {} : { payload: body }),
            payloadAsStream: true,
          });
        // A plugin with its own key uses that one.
        const key = 'authorization' in headers ? undefined : await keyOf(projectId);
        let answer = await ask(key);
        if (answer.statusCode === 401 && key !== undefined) {
          answer.raw.res.destroy();
          answer = await ask(await keyInsteadOf(projectId, key));
        }
        return await readAnswer(url, answer);
      } finally {
        release();
      }
    },
    close: async () => {
      for (const made of keys.values()) {
        const { userId, id } = await made;
        await deletePersonalApiKey(db, userId, id);
      }
      keys.clear();
    },
  };
}

const notApi =
  'posthog.api reaches paths below /api/ only; send events with posthog.capture, which records their origin.';
const tooMany = `Expected at most ${atOnceMax} calls of posthog.api per project at the same time; wait for the others.`;
const endless = 'posthog.api does not support streams: request a list instead.';
const tooLarge = `Expected a response of at most ${answerBytesMax / 1024 / 1024} MiB; request less with limit.`;

/** `undefined` if it is not a URL of the API. */
function apiUrl(path: string, projectId: number): string | undefined {
  const url = URL.parse(path, 'http://plugin.invalid');
  if (url === null || url.host !== 'plugin.invalid' || !url.pathname.startsWith('/api/')) return undefined;
  return url.pathname.replace('/@current/', `/${projectId}/`) + url.search;
}

function ownHeadersOf(given: Readonly<Record<string, string>>): Record<string, string> {
  const named = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(named.filter(([name]) => ownHeaders.has(name)));
}

/** Returns a function that frees the slot, or `undefined` if the maximum is reached. */
function takeTurn(atWork: Map<number, number>, projectId: number): (() => void) | undefined {
  const own = atWork.get(projectId) ?? 0;
  if (own >= atOnceMax) return undefined;
  atWork.set(projectId, own + 1);
  return () => {
    const left = (atWork.get(projectId) ?? 1) - 1;
    if (left === 0) atWork.delete(projectId);
    else atWork.set(projectId, left);
  };
}

async function readAnswer(url: string, answer: Awaited<ReturnType<Inject>>): Promise<OutboundResponse> {
  const { statusCode: status, statusMessage: statusText } = answer;
  const headers = plainHeaders(answer.headers);
  // Destroying it releases its resources, e.g. a slot among the project's streams.
  using parts = new DisposableStack();
  parts.defer(() => answer.raw.res.destroy());
  const stream = answer.stream();
  if (headers['content-type']?.startsWith('text/event-stream') === true) return refusal(url, 406, endless);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > answerBytesMax) return refusal(url, 413, tooLarge);
    chunks.push(chunk);
  }
  return { status, statusText, headers, body: new Uint8Array(Buffer.concat(chunks)), url };
}

/** In the format of the API's errors. */
function refusal(url: string, status: number, detail: string): OutboundResponse {
  const error = { type: 'invalid_request', code: 'permission_denied', detail, attr: null };
  const body = new TextEncoder().encode(JSON.stringify(error));
  return { status, statusText: '', headers: { 'content-type': 'application/json' }, body, url };
}

async function makeKey(db: Metadata, projectId: number, now: number): Promise<IssuedKey> {
  const { organization_id: organizationId } = await db
    .selectFrom('projects')
    .select('organization_id')
    .where('id', '=', projectId)
    .executeTakeFirstOrThrow();
  const user = await firstAdmin(db, organizationId);
  if (user === undefined) throw new Error('expected the organisation to have an admin, got none');
  const label = `plugins of project ${projectId}`;
  const expiresAt = isoMicros(now + dayMs);
  const input = { userId: user.id, label, scopes, scopedProjects: [projectId], expiresAt };
  const issued = await createPersonalApiKey(db, input, now);
  return { value: issued.value, id: issued.key.id, userId: user.id, issuedAt: now };
}

function plainHeaders(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      if (value === undefined) return [];
      return [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : String(value)]];
    }),
  );
}
