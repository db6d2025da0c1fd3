import type { Role } from '../../wire/contract/roles.ts';
import type { Actor } from './activity.ts';
import type { Queries } from './queries.ts';
import { systemActor } from './record-change.ts';
import { recordUser } from './record-user.ts';
import { endSessions } from './sessions.ts';
import { addUser, changeUser, EmailTakenError, getUser, listUsers, type User } from './users.ts';

/** An account of the OpenID Connect provider, with a verified address. */
export interface OidcAccount {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  readonly firstName: string;
}

/** Role by the groups of the account: `set` for every user, `keep` for new ones only, `none` refuses every user. */
export type OidcRole =
  | { readonly kind: 'set'; readonly role: Role }
  | { readonly kind: 'keep'; readonly roleOfNew: Role | undefined }
  | { readonly kind: 'none' };

export type OidcRefusal = 'no_role' | 'deactivated' | 'last_admin' | 'account_conflict';

export type OidcSignIn =
  | { readonly user: User }
  /** `userId` is that of a known user, whose sessions have been ended. */
  | { readonly refusal: OidcRefusal; readonly userId: number | undefined };

export interface OidcSignInRequest {
  readonly organizationId: string;
  readonly account: OidcAccount;
  readonly role: OidcRole;
  readonly requestId: string;
  /** ms since the epoch. */
  readonly now: number;
}

/**
 * Returns the user of an account: the one that signed in with it before, or the one with its address, or a new one. Name, address and,
 * with groups, the role follow the account. A refused user is signed out. Call it in a transaction.
 */
export async function signInOidcUser(tx: Queries, request: OidcSignInRequest): Promise<OidcSignIn> {
  const { organizationId, account, role, now } = request;
  const found = await findUser(tx, organizationId, account);
  if (found === 'conflict') return { refusal: 'account_conflict', userId: undefined };
  const refusal = refusalOf(found, role) ?? (await leavesNoAdmin(tx, found, role));
  if (refusal !== undefined) return refuse(tx, request, refusal, found);
  if (found === undefined) {
    // Sound: refusalOf has refused the other cases.
    const given = role.kind === 'set' ? role.role : role.kind === 'keep' ? role.roleOfNew : undefined;
    if (given === undefined) return { refusal: 'no_role', userId: undefined };
    const { email, firstName } = account;
    const user = await addUser(tx, { organizationId, email, firstName, role: given }, now);
    await recordUser(tx, systemActorOf(request), { user, after: user, now });
    return signedIn(tx, request, user);
  }
  try {
    return await signedIn(tx, request, await follow(tx, request, found));
  } catch (error) {
    if (error instanceof EmailTakenError) return refuse(tx, request, 'account_conflict', found);
    throw error;
  }
}

function refusalOf(found: User | undefined, role: OidcRole): OidcRefusal | undefined {
  if (found !== undefined && found.deactivatedAt !== null) return 'deactivated';
  if (role.kind === 'none') return 'no_role';
  return found === undefined && role.kind === 'keep' && role.roleOfNew === undefined ? 'no_role' : undefined;
}

/** Checked before the change, which would have to be rolled back together with the end of the sessions. */
async function leavesNoAdmin(tx: Queries, found: User | undefined, role: OidcRole): Promise<'last_admin' | undefined> {
  if (found?.role !== 'admin' || role.kind !== 'set' || role.role === 'admin') return undefined;
  const users = await listUsers(tx, found.organizationId);
  const hasOther = users.some((user) => user.id !== found.id && user.role === 'admin' && user.deactivatedAt === null);
  return hasOther ? undefined : 'last_admin';
}

/** An address that an account of the same provider has already been linked to is not linked to another account. */
async function findUser(
  tx: Queries,
  organizationId: string,
  { issuer, subject, email }: OidcAccount,
): Promise<User | undefined | 'conflict'> {
  const linked = await tx
    .selectFrom('users')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('oidc_issuer', '=', issuer)
    .where('oidc_subject', '=', subject)
    .executeTakeFirst();
  if (linked !== undefined) return getUser(tx, linked.id);
  const users = await listUsers(tx, organizationId);
  const same = users.find((user) => user.email.toLowerCase() === email.toLowerCase());
  if (same === undefined) return undefined;
  const { oidc_issuer: other } = await tx
    .selectFrom('users')
    .select('oidc_issuer')
    .where('id', '=', same.id)
    .executeTakeFirstOrThrow();
  return other === issuer ? 'conflict' : same;
}

/** @throws EmailTakenError */
async function follow(tx: Queries, request: OidcSignInRequest, before: User): Promise<User> {
  const { organizationId, account, role, now } = request;
  const { email, firstName } = account;
  const changes = { email, firstName, ...(role.kind === 'set' && { role: role.role }) };
  const hasChanged =
    email !== before.email || firstName !== before.firstName || (changes.role ?? before.role) !== before.role;
  if (!hasChanged) return before;
  const after = await changeUser(tx, organizationId, before.id, changes);
  if (after === undefined) throw new Error('expected the user to exist until the transaction ends');
  const activity = before.role === after.role ? undefined : 'role_changed_by_group';
  await recordUser(tx, systemActorOf(request), { user: after, before, after, now, ...(activity && { activity }) });
  return after;
}

async function signedIn(tx: Queries, request: OidcSignInRequest, user: User): Promise<OidcSignIn> {
  const { account, now, requestId } = request;
  await tx
    .updateTable('users')
    .set({ oidc_issuer: account.issuer, oidc_subject: account.subject })
    .where('id', '=', user.id)
    .execute();
  const actor = { organizationId: user.organizationId, userId: user.id, keyId: null, requestId };
  await recordUser(tx, actor, { user, before: user, after: user, activity: 'signed_in', now });
  return { user };
}

async function refuse(
  tx: Queries,
  request: OidcSignInRequest,
  refusal: OidcRefusal,
  user: User | undefined,
): Promise<OidcSignIn> {
  if (user === undefined) return { refusal, userId: undefined };
  await endSessions(tx, user.id, { except: undefined });
  const activity = 'sign_in_refused';
  await recordUser(tx, systemActorOf(request), { user, before: user, after: user, activity, now: request.now });
  return { refusal, userId: user.id };
}

function systemActorOf({ organizationId, requestId }: OidcSignInRequest): Actor {
  return { ...systemActor(organizationId), requestId };
}
