/** Permissions of a personal API key: `<object>:<action>`. `write` implies `read`, `*` implies all except `separateObjects`. */
export const scopeObjects = {
  activity_log: 'Activity log entries',
  erasure: 'Erasing events and persons, and how long events are kept',
  export: 'Exports: all events, persons and groups of a project',
  group: 'Groups and group types',
  historical_migration: 'Agreements for historical imports',
  import_undo: 'Undoing import runs',
  ingestion_warning: 'Ingestion warnings and dead letters',
  notice: 'Notifications of a project: destinations and deliveries',
  organization: 'Organisation: users and their sessions',
  person: 'Persons',
  personal_api_key: 'Personal API keys of the same user',
  plugin: 'Plugins and plugin configs',
  project: 'Projects, their keys and usage',
  query: 'Stored events',
  tracking_plan: 'Tracking plans and their violations',
  user: "The key's user and their sessions",
} as const;

export type ScopeObject = keyof typeof scopeObjects;

/** Permissions that `*` does not include: what they remove cannot be restored, so a key has them only if they were granted by name. */
const separateObjects: ReadonlySet<string> = new Set<ScopeObject>(['erasure']);

export type ScopeAction = 'read' | 'write';
export type Scope = `${ScopeObject}:${ScopeAction}`;
export type GrantedScope = Scope | '*';

export const allScopes: readonly Scope[] = (Object.keys(scopeObjects) as ScopeObject[]).flatMap((object) => [
  `${object}:read` as const,
  `${object}:write` as const,
]);

export function isGrantedScope(text: string): text is GrantedScope {
  return text === '*' || (allScopes as readonly string[]).includes(text);
}

/** Whether the granted scopes include the needed one. */
export function hasScope(granted: readonly string[], needed: Scope): boolean {
  if (granted.includes(needed)) return true;
  if (granted.includes('*') && !separateObjects.has(needed.slice(0, needed.indexOf(':')))) return true;
  return needed.endsWith(':read') && granted.includes(needed.replace(/:read$/, ':write'));
}
