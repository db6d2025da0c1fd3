import type { Role } from '../../../../src/wire/contract/roles.ts';
import type { SessionRecord } from '../../../../src/wire/contract/sessions.ts';
import type { SignInLink, UserRecord } from '../../../../src/wire/contract/users.ts';
import { apiQuery } from '../../api/queries.ts';
import { request } from '../../api/request.ts';
import { usersPath } from '../../api/users.ts';

export const mySessionsPath = '/api/users/@me/sessions';
export const mySessionsQuery = apiQuery<readonly SessionRecord[]>(mySessionsPath);

interface Invitation {
  readonly email: string;
  readonly first_name?: string;
  readonly role: Role;
}

/** A sign-in link and the user it is for. */
export interface IssuedLink extends SignInLink {
  readonly email: string;
}

export function inviteUser(invitation: Invitation): Promise<UserRecord & SignInLink> {
  return request<UserRecord & SignInLink>(usersPath, { method: 'POST', body: invitation });
}

export function changeUser(
  id: number,
  change: { readonly role?: Role; readonly is_active?: boolean },
): Promise<UserRecord> {
  return request<UserRecord>(`${usersPath}/${id}`, { method: 'PATCH', body: change });
}

export function deleteUser(id: number): Promise<void> {
  return request<void>(`${usersPath}/${id}`, { method: 'DELETE' });
}

export function signOutUser(id: number): Promise<void> {
  return request<void>(`${usersPath}/${id}/sessions`, { method: 'DELETE' });
}

export function newSignInLink(id: number): Promise<SignInLink> {
  return request<SignInLink>(`${usersPath}/${id}/sign_in_link`, { method: 'POST' });
}

export function endSession(id: string): Promise<void> {
  return request<void>(`${mySessionsPath}/${id}`, { method: 'DELETE' });
}

/** Ends all sessions of the signed-in user, optionally except the current one. */
export function endMySessions(options: { readonly keepCurrent: boolean }): Promise<void> {
  return request<void>(mySessionsPath, { method: 'DELETE', query: { keep_current: options.keepCurrent } });
}
