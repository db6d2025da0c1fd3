/** What a user may do in the organisation; each role may do all that the one before it may. */
export const roleMeanings = {
  viewer: 'Looks at everything and changes nothing but their own keys and sessions.',
  editor: 'Also changes what is in the projects: configs, imports, dead letters, agreements that are filed.',
  admin: 'Also users, keys and sessions of others, and projects as a whole: made, deleted, given a new key.',
} as const;

export type Role = keyof typeof roleMeanings;

/** From the one that may least to the one that may most. */
export const roles = Object.keys(roleMeanings) as readonly Role[];

/** Whether a user with this role may do what takes `needed`. */
export function hasRole(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

export function isRole(text: string): text is Role {
  return (roles as readonly string[]).includes(text);
}
