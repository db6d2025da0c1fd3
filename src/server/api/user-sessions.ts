import type { Clock } from '../../base/clock.ts';
import { ApiError } from '../../wire/contract/errors.ts';
import {
  endSessionsQuerySchema,
  sessionListSchema,
  sessionParamsSchema,
  userSessionParamsSchema,
  type SessionRecord,
} from '../../wire/contract/sessions.ts';
import { userParamsSchema } from '../../wire/contract/users.ts';
import { apiRoute, type ApiRoute, type Principal } from '../http/api-route.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import { endSessions, listSessions, type ListedSession, type SessionPolicy } from '../../stores/metadata/sessions.ts';
import { userOf } from './users.ts';

export interface UserSessionRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Called after sessions of a user were ended, so that they stop working immediately. */
  readonly forgetUser: (userId: number) => void;
  /** Default: sessions of 14 days. */
  readonly sessionPolicy?: SessionPolicy;
}

const tag = 'Sessions';
const own = '/api/users/@me/sessions';
const ofUser = '/api/users/:user_id/sessions';

/** Routes of console sessions: users list and end their own, admins those of every user. */
export function userSessionRoutes(deps: UserSessionRouteDeps): ApiRoute[] {
  return [...ownRoutes(deps), ...adminRoutes(deps)];
}

function ownRoutes({ db, clock, forgetUser, sessionPolicy }: UserSessionRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: own,
      scope: 'user:read',
      tag,
      summary: 'List your console sessions, newest first',
      responses: { 200: sessionListSchema },
      handler: async ({ principal }) => {
        const sessions = await listSessions(db, principal.userId, clock.now(), sessionPolicy);
        return { status: 200, body: sessions.map((session) => toRecord(session, principal)) };
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: own,
      scope: 'user:write',
      role: 'viewer',
      tag,
      summary: 'Sign out everywhere',
      description:
        'Ends all of your console sessions immediately, and unused sign-in links; with `keep_current`, all except the session of this request.',
      query: endSessionsQuerySchema,
      responses: { 204: null },
      handler: async ({ principal, query }) => {
        const current = principal.kind === 'session' ? principal.sessionId : undefined;
        await endSessions(db, principal.userId, { except: query.keep_current === true ? current : undefined });
        forgetUser(principal.userId);
        return { status: 204 };
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: `${own}/:session`,
      scope: 'user:write',
      role: 'viewer',
      tag,
      summary: 'End one of your console sessions',
      params: sessionParamsSchema,
      responses: { 204: null },
      handler: async ({ principal, params }) => {
        const ended = await endSessions(db, principal.userId, { id: params.session });
        forgetUser(principal.userId);
        if (ended === 0) throw new ApiError('not_found', 'Not found.');
        return { status: 204 };
      },
    }),
  ];
}

function adminRoutes({ db, clock, forgetUser, sessionPolicy }: UserSessionRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: ofUser,
      scope: 'organization:read',
      role: 'admin',
      tag,
      summary: 'List the console sessions of a user, newest first',
      params: userParamsSchema,
      responses: { 200: sessionListSchema },
      handler: async ({ principal, params }) => {
        const user = await userOf(db, principal.organizationId, params.user_id);
        const sessions = await listSessions(db, user.id, clock.now(), sessionPolicy);
        return { status: 200, body: sessions.map((session) => toRecord(session, principal)) };
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: ofUser,
      scope: 'organization:write',
      tag,
      summary: 'Sign a user out everywhere',
      description: 'Ends all of their console sessions immediately, and unused sign-in links.',
      params: userParamsSchema,
      responses: { 204: null },
      handler: async ({ principal, params }) => {
        const user = await userOf(db, principal.organizationId, params.user_id);
        await endSessions(db, user.id, { except: undefined });
        forgetUser(user.id);
        return { status: 204 };
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: `${ofUser}/:session`,
      scope: 'organization:write',
      tag,
      summary: 'End a console session of a user',
      params: userSessionParamsSchema,
      responses: { 204: null },
      handler: async ({ principal, params }) => {
        const user = await userOf(db, principal.organizationId, params.user_id);
        const ended = await endSessions(db, user.id, { id: params.session });
        forgetUser(user.id);
        if (ended === 0) throw new ApiError('not_found', 'Not found.');
        return { status: 204 };
      },
    }),
  ];
}

function toRecord(session: ListedSession, principal: Principal): SessionRecord {
  return {
    id: session.id,
    created_at: session.createdAt,
    last_used_at: session.lastUsedAt,
    expires_at: session.expiresAt,
    browser: session.browser,
    address: session.address,
    opened_by: session.openedBy,
    is_current: principal.kind === 'session' && principal.sessionId === session.id,
  };
}
