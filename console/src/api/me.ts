import type { Role } from '../../../src/wire/contract/roles.ts';
import { apiQuery } from './queries.ts';

export interface Me {
  readonly id: number;
  readonly first_name: string;
  readonly email: string;
  readonly organization: { readonly id: string; readonly name: string };
  readonly role: Role;
}

/** The user whose session it is. */
export const meQuery = apiQuery<Me>('/api/users/@me');
