import type { User } from './users.ts';

/** Returns the fields of a user that API and command line share, with their names on the wire. */
export function userFields(user: User) {
  return {
    id: user.id,
    uuid: user.uuid,
    first_name: user.firstName,
    email: user.email,
    role: user.role,
    is_active: user.deactivatedAt === null,
    deactivated_at: user.deactivatedAt,
    date_joined: user.createdAt,
  };
}
