import { allScopes, scopeObjects, type ScopeObject } from '../../../../src/wire/contract/scopes.ts';

/** Access to one type of object; write implies read. */
export type Access = 'none' | 'read' | 'write';
type Accesses = Readonly<Record<ScopeObject, Access>>;

export const objects = Object.keys(scopeObjects) as ScopeObject[];

const noAccess = Object.fromEntries(objects.map((object) => [object, 'none'])) as Accesses;

/** Common sets of scopes. */
export const presets = [
  {
    name: 'Run pipelines',
    hint: 'Read and change plugin configs, start imports, read warnings, activity and events.',
    scopes: ['plugin:write', 'project:read', 'ingestion_warning:read', 'activity_log:read', 'query:read'],
  },
  {
    name: 'Import history',
    hint: 'What millrace import needs to verify that every event was stored.',
    scopes: ['query:read', 'project:read'],
  },
  {
    name: 'Read only',
    hint: 'Read everything, change nothing.',
    scopes: allScopes.filter((scope) => scope.endsWith(':read')),
  },
  {
    name: 'Full access',
    hint: 'Everything you can do yourself, except erasing. Meant for users, not for programs.',
    scopes: ['*'],
  },
] as const satisfies readonly { readonly name: string; readonly hint: string; readonly scopes: readonly string[] }[];

export function accessesOf(scopes: readonly string[]): Accesses {
  const chosen = scopes.flatMap((scope): [string, Access][] => {
    const [object = '', action] = scope.split(':');
    return action === 'read' || action === 'write' ? [[object, action]] : [];
  });
  // Sorted, so that write overrides read if both are present.
  return { ...noAccess, ...Object.fromEntries(chosen.toSorted(([, a], [, b]) => a.localeCompare(b))) };
}

/** Returns the shortest list of scopes for these accesses. */
export function scopesOf(accesses: Accesses): string[] {
  return objects.flatMap((object) => (accesses[object] === 'none' ? [] : [`${object}:${accesses[object]}`]));
}

/** Formats scopes for a table row: "plugin:write, query:read and 3 more". */
export function scopesText(scopes: readonly string[], shown = 2): string {
  if (scopes.includes('*')) return 'all scopes';
  const rest = scopes.length - shown;
  if (rest <= 0) return scopes.join(', ');
  return `${scopes.slice(0, shown).join(', ')} and ${rest} more`;
}
