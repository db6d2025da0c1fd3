/** Permissions of a user in the organisation; each role includes those before it. */
export const roleMeanings = {
  viewer: 'Reads everything and only changes their own keys and sessions.',
  editor: 'Also changes the content of projects: configs, imports, dead letters, requests for agreements.',
  admin: 'Also manages users, keys and sessions of others, and creates and deletes projects and rotates their keys.',
} as const;

export type Role = keyof typeof roleMeanings;

/** Roles in ascending order. */
export const roles = Object.keys(roleMeanings) as readonly Role[];

/** Whether a role includes the needed one. */
export function hasRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}
