import type { Role } from '../../../src/wire/contract/roles.ts';
import type { UserRecord } from '../../../src/wire/contract/users.ts';
import { apiQuery } from './queries.ts';

export const usersPath = '/api/users';
/** All users of the organisation. */
export const usersQuery = apiQuery<readonly UserRecord[]>(usersPath);

/** Returns the display name of a user: the first name or, without one, the e-mail address. */
export function userName(user: { readonly id: number; readonly first_name: string; readonly email: string }): string {
  return user.first_name || user.email || `User ${user.id}`;
}

export interface Me {
  readonly id: number;
  readonly first_name: string;
  readonly email: string;
  readonly organization: { readonly id: string; readonly name: string };
  readonly role: Role;
}

/** The signed-in user. */
export const meQuery = apiQuery<Me>('/api/users/@me');
