import { dayMs } from '../base/time.ts';
import { isoMicros, type Clock } from '../base/clock.ts';
import type { GrantedScope } from '../contract/scopes.ts';
import type { Metadata } from '../metadata/database.ts';
import { createPersonalApiKey, deletePersonalApiKey } from '../metadata/personal-api-keys.ts';
import { firstAdmin } from '../metadata/users.ts';
import type { OutboundResponse } from '../outbound/outbound.ts';
import type { ApiCall } from '../sandbox/sandbox.ts';

/** A request to this service's own API, without a network between. */
export type Inject = (request: {
  readonly method: ApiCall['method'];
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly payload?: string;
}) => Promise<{
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly rawPayload: Uint8Array;
}>;

/** What `posthog.api` may do when a plugin brings no key of its own: look, in its own project. */
const scopes: readonly GrantedScope[] = ['person:read', 'group:read', 'query:read', 'plugin:read', 'project:read'];
/** A key is replaced well before it ends. */
const renewMs = dayMs / 2;

interface IssuedKey {
  readonly value: string;
  readonly id: string;
  readonly userId: number;
  /** ms since the epoch. */
  readonly issuedAt: number;
}

/**
 * `posthog.api` without a host: requests to this service with a key of the project's plugins, which is made when first needed,
 * may only read that project, ends by itself after a day, and is removed when the service stops.
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
    // Another call has replaced it meanwhile.
    if (keys.get(projectId) !== current) return keyOf(projectId);
    const { value } = await start(projectId);
    await deletePersonalApiKey(db, issued.userId, issued.id);
    return value;
  };

  /** When somebody has revoked our key, or deleted the user that it was made for. */
  const keyInsteadOf = async (projectId: number, refused: string): Promise<string> => {
    // Unless another call has noticed it meanwhile.
    if ((await keyOf(projectId)) === refused) keys.delete(projectId);
    return keyOf(projectId);
  };

  return {
    call: async (projectId, { method, path, headers, body }) => {
      // A plugin that brings a key of its own acts with that one.
      const own = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
      const url = path.replace('/@current/', `/${projectId}/`);
      const ask = (key: string | undefined) =>
        inject({
          method,
          url,
          headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
          ...(body === null ? {} : { payload: body }),
        });
      const key = own ? undefined : await keyOf(projectId);
      let answer = await ask(key);
      if (answer.statusCode === 401 && key !== undefined) answer = await ask(await keyInsteadOf(projectId, key));
      const { statusCode: status, statusMessage: statusText, rawPayload } = answer;
      return { status, statusText, headers: plainHeaders(answer.headers), body: new Uint8Array(rawPayload), url };
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
