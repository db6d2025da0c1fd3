import { isoMicros, type Clock } from '../../base/clock.ts';
import { ApiError, orNotFound } from '../../wire/contract/errors.ts';
import {
  invitedUserSchema,
  signInLinkSchema,
  userCreateSchema,
  userListSchema,
  userParamsSchema,
  userSchema,
  userUpdateSchema,
  type SignInLink,
  type UserRecord,
} from '../../wire/contract/users.ts';
import { actorOf } from '../http/actor.ts';
import { apiRoute, type ApiRequest, type ApiRoute } from '../http/api-route.ts';
import { scopesOf } from '../http/auth-queries.ts';
import type { Metadata } from '../../stores/metadata/database.ts';
import type { Queries } from '../../stores/metadata/queries.ts';
import { recordUser } from '../../stores/metadata/record-user.ts';
import { createLoginLink, invitationMs, loginLinkMs, type SessionPolicy } from '../../stores/metadata/sessions.ts';
import { userFacts, type UserFacts } from '../../stores/metadata/user-facts.ts';
import { userFields } from '../../stores/metadata/user-fields.ts';
import {
  addUser,
  changeUser,
  deleteUser,
  EmailTakenError,
  getUser,
  LastAdminError,
  listUsers,
  type User,
} from '../../stores/metadata/users.ts';
import { checkHasAllRights } from './key-rights.ts';

export interface UserRouteDeps {
  readonly db: Metadata;
  readonly clock: Clock;
  /** Called after a user's permissions have changed, so that the change applies immediately. */
  readonly forgetUser: (userId: number) => void;
  /** Default: sessions of 14 days. */
  readonly sessionPolicy?: SessionPolicy;
}

const path = '/api/users';
const onePath = `${path}/:user_id`;
const tag = 'Users';

/** Routes of the organisation's users. Admins invite, change and delete them; every user can list them. */
export function userRoutes(deps: UserRouteDeps): ApiRoute[] {
  return [...readRoutes(deps), inviteRoute(deps), linkRoute(deps), ...changeRoutes(deps)];
}

function readRoutes({ db, clock, sessionPolicy }: UserRouteDeps): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path,
      scope: 'organization:read',
      tag,
      summary: 'List the users of the organisation, oldest first',
      description: 'Returns a list without pagination.',
      responses: { 200: userListSchema },
      handler: async ({ principal }) => {
        const users = await listUsers(db, principal.organizationId);
        const facts = await userFacts(db, principal.organizationId, clock.now(), sessionPolicy);
        return { status: 200, body: users.map((user) => toRecord(user, facts.get(user.id))) };
      },
    }),
    apiRoute({
      method: 'GET',
      path: onePath,
      scope: 'organization:read',
      tag,
      summary: 'Retrieve a user',
      params: userParamsSchema,
      responses: { 200: userSchema },
      handler: async ({ principal, params }) => {
        const user = await userOf(db, principal.organizationId, params.user_id);
        return { status: 200, body: await shown(db, user, clock.now(), sessionPolicy) };
      },
    }),
  ];
}

function inviteRoute({ db, clock }: UserRouteDeps): ApiRoute {
  return apiRoute({
    method: 'POST',
    path,
    scope: 'organization:write',
    tag,
    summary: 'Invite a user',
    description:
      'Creates the user and a link that signs in once, within 72 hours: pass it on yourself, since nothing is sent. A key that invites ' +
      'needs scope `*`, all projects and no expiry; sessions of the link have its scopes.',
    body: userCreateSchema,
    namesUnknownFields: true,
    responses: { 201: invitedUserSchema },
    handler: async (request) => {
      const { principal, body } = request;
      await checkHasAllRights(db, principal);
      const { organizationId } = principal;
      const firstName = nameOf(body.first_name ?? body.email.slice(0, body.email.indexOf('@')));
      const input = { organizationId, email: body.email, firstName, role: body.role };
      const now = clock.now();
      const { user, link } = await guarded(() =>
        db.transaction().execute(async (tx) => {
          const made = await addUser(tx, input, now);
          await recordUser(tx, actorOf(request), { user: made, after: made, now });
          return { user: made, link: await newLink(tx, request, { userId: made.id, now, lifetimeMs: invitationMs }) };
        }),
      );
      const location = `${request.url.replace(/\/$/, '')}/${user.id}/`;
      return { status: 201, body: { ...toRecord(user, undefined), ...link }, headers: { location } };
    },
  });
}

function linkRoute({ db, clock }: UserRouteDeps): ApiRoute {
  return apiRoute({
    method: 'POST',
    path: `${onePath}/sign_in_link`,
    scope: 'organization:write',
    tag,
    summary: 'Create a one-time sign-in link for a user',
    description:
      'Creates a link that signs in once, within 72 hours. Earlier links stay valid. Keys need the same rights as for an invitation.',
    params: userParamsSchema,
    responses: { 201: signInLinkSchema },
    handler: async (request) => {
      await checkHasAllRights(db, request.principal);
      const now = clock.now();
      const link = await db.transaction().execute(async (tx) => {
        const user = await userOf(tx, request.principal.organizationId, request.params.user_id);
        if (user.deactivatedAt !== null) {
          throw new ApiError('conflict', 'The user is deactivated: activate the user first (is_active: true).');
        }
        const activity = 'sign_in_link_created';
        await recordUser(tx, actorOf(request), { user, before: user, after: user, activity, now });
        // A link printed on a terminal is opened right away.
        const lifetimeMs = request.principal.kind === 'operator' ? loginLinkMs : invitationMs;
        return newLink(tx, request, { userId: user.id, now, lifetimeMs });
      });
      return { status: 201, body: link };
    },
  });
}

function changeRoutes({ db, clock, forgetUser, sessionPolicy }: UserRouteDeps): ApiRoute[] {
  const common = { path: onePath, scope: 'organization:write', tag, params: userParamsSchema } as const;
  return [
    apiRoute({
      ...common,
      method: 'PATCH',
      summary: 'Update role, name or address of a user, or deactivate one',
      description:
        'Updates the given fields. The last admin must stay one. Keys need the same rights as for an invitation.',
      body: userUpdateSchema,
      namesUnknownFields: true,
      responses: { 200: userSchema },
      handler: async (request) => {
        const { principal, body, params } = request;
        await checkHasAllRights(db, principal);
        const now = clock.now();
        const user = await guarded(() =>
          db.transaction().execute(async (tx) => {
            const before = await userOf(tx, principal.organizationId, params.user_id);
            const changes = changesOf(body, before, now);
            const after = orNotFound(await changeUser(tx, principal.organizationId, before.id, changes));
            await recordUser(tx, actorOf(request), { user: after, before, after, now });
            return after;
          }),
        );
        forgetUser(user.id);
        return { status: 200, body: await shown(db, user, now, sessionPolicy) };
      },
    }),
    apiRoute({
      ...common,
      method: 'DELETE',
      summary: 'Delete a user with their sessions and keys',
      description:
        'Deletes the user permanently. Their actions are kept in the activity log. The last admin cannot be deleted.',
      responses: { 204: null },
      handler: async (request) => {
        const { principal, params } = request;
        await checkHasAllRights(db, principal);
        await guarded(() =>
          db.transaction().execute(async (tx) => {
            // Read before the row is deleted: an admin may delete themselves, and is named in the log.
            const before = await userOf(tx, principal.organizationId, params.user_id);
            await recordUser(tx, actorOf(request), { user: before, before, now: clock.now() });
            orNotFound(await deleteUser(tx, principal.organizationId, params.user_id));
          }),
        );
        forgetUser(params.user_id);
        return { status: 204 };
      },
    }),
  ];
}

/** @throws ApiError not_found, also for users of other organisations */
export async function userOf(db: Queries, organizationId: string, id: number): Promise<User> {
  const user = await getUser(db, id);
  return orNotFound(user?.organizationId === organizationId ? user : undefined);
}

/** @throws ApiError if the change is not allowed */
async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LastAdminError) {
      throw new ApiError('conflict', 'The last admin must stay one: make another user an admin first.', {
        cause: error,
      });
    }
    if (error instanceof EmailTakenError) {
      throw new ApiError('unique', 'A user with this address already exists.', { attr: 'email', cause: error });
    }
    throw error;
  }
}

async function newLink(
  tx: Queries,
  { url, principal }: Pick<ApiRequest, 'url' | 'principal'>,
  link: { readonly userId: number; readonly now: number; readonly lifetimeMs: number },
): Promise<SignInLink> {
  const token = await createLoginLink(tx, { ...link, scopes: scopesOf(principal) });
  const { origin } = new URL(url);
  return { sign_in_url: `${origin}/login?token=${token}`, sign_in_expires_at: isoMicros(link.now + link.lifetimeMs) };
}

interface UserBody {
  readonly first_name?: string;
  readonly email?: string;
  readonly role?: User['role'];
  readonly is_active?: boolean;
}

function changesOf({ first_name: firstName, email, role, is_active: isActive }: UserBody, before: User, now: number) {
  return {
    ...(firstName !== undefined && { firstName: nameOf(firstName) }),
    ...(email !== undefined && { email }),
    ...(role !== undefined && { role }),
    // If deactivated twice, the first time counts.
    ...(isActive !== undefined && { deactivatedAt: isActive ? null : (before.deactivatedAt ?? isoMicros(now)) }),
  };
}

function nameOf(text: string): string {
  const name = text.trim();
  if (name === '') throw new ApiError('blank', 'This field may not be blank.', { attr: 'first_name' });
  return name;
}

async function shown(db: Queries, user: User, now: number, policy: SessionPolicy | undefined): Promise<UserRecord> {
  return toRecord(user, (await userFacts(db, user.organizationId, now, policy)).get(user.id));
}

function toRecord(user: User, facts: UserFacts | undefined): UserRecord {
  return {
    ...userFields(user),
    last_seen_at: facts?.lastSeenAt ?? null,
    sessions: facts?.sessions ?? 0,
    personal_api_keys: facts?.keys ?? 0,
  };
}
