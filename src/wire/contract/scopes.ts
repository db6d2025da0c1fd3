/** What a personal API key may do: `<object>:<action>`. `write` implies `read`; `*` implies everything. */
export const scopeObjects = {
  activity_log: 'Activity log entries',
  group: 'Groups and group types',
  historical_migration: 'Agreements for historical imports',
  import_undo: 'Taking back import runs',
  ingestion_warning: 'Ingestion warnings and dead letters',
  notice: 'Notices of a project: where they go, and what became of them',
  organization: 'The organisation: its users and their sessions',
  person: 'Persons',
  personal_api_key: 'Personal API keys of the same user',
  plugin: 'Plugins and plugin configs',
  project: 'Projects, their keys and usage',
  query: 'Stored events',
  user: 'The user that the key belongs to, and the sessions of that user',
} as const;

export type ScopeObject = keyof typeof scopeObjects;
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

/** Whether a key with these scopes may do what needs `needed`. */
export function hasScope(granted: readonly string[], needed: Scope): boolean {
  if (granted.includes('*') || granted.includes(needed)) return true;
  return needed.endsWith(':read') && granted.includes(needed.replace(/:read$/, ':write'));
}
