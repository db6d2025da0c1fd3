import { apiQuery } from './queries.ts';

/** Who may do what: a viewer looks, an editor changes what belongs to a project, an admin also people, keys and projects. */
export type Role = 'admin' | 'editor' | 'viewer';

export interface Me {
  readonly id: number;
  readonly first_name: string;
  readonly email: string;
  readonly organization: { readonly id: string; readonly name: string };
  /** Absent from services that know no roles: everybody may do everything. */
  readonly role?: Role;
}

/** The user whose session it is. */
export const meQuery = apiQuery<Me>('/api/users/@me');
