import { allScopes, scopeObjects, type ScopeObject } from '../../../../src/wire/contract/scopes.ts';

/** What a key may do with one kind of object; write implies read. */
export type Access = 'none' | 'read' | 'write';
export type Accesses = Readonly<Record<ScopeObject, Access>>;

export const objects = Object.keys(scopeObjects) as ScopeObject[];

const nothing = Object.fromEntries(objects.map((object) => [object, 'none'])) as Accesses;

/** Scopes that belong together, and what for. */
export const presets = [
  {
    name: 'Run pipelines',
    hint: 'Read and change plugin configs, start imports, read what happened to events.',
    scopes: ['plugin:write', 'project:read', 'ingestion_warning:read', 'activity_log:read', 'query:read'],
  },
  {
    name: 'Import history',
    hint: 'What millrace import needs to check that everything arrived.',
    scopes: ['query:read', 'project:read'],
  },
  {
    name: 'Look only',
    hint: 'Read everything, change nothing.',
    scopes: allScopes.filter((scope) => scope.endsWith(':read')),
  },
  { name: 'Everything', hint: 'All that you may do yourself. For people, not for programs.', scopes: ['*'] },
] as const satisfies readonly { readonly name: string; readonly hint: string; readonly scopes: readonly string[] }[];

export function accessesOf(scopes: readonly string[]): Accesses {
  const chosen = scopes.flatMap((scope): [string, Access][] => {
    const [object = '', action] = scope.split(':');
    return action === 'read' || action === 'write' ? [[object, action]] : [];
  });
  // Read first, so that write wins where both are named.
  return { ...nothing, ...Object.fromEntries(chosen.toSorted(([, a], [, b]) => a.localeCompare(b))) };
}

/** The shortest list that gives these accesses. */
export function scopesOf(accesses: Accesses): string[] {
  return objects.flatMap((object) => (accesses[object] === 'none' ? [] : [`${object}:${accesses[object]}`]));
}

/** For a row of the table: "plugin:write, query:read and 3 more". */
export function scopesText(scopes: readonly string[], shown = 2): string {
  if (scopes.includes('*')) return 'everything';
  const rest = scopes.length - shown;
  if (rest <= 0) return scopes.join(', ');
  return `${scopes.slice(0, shown).join(', ')} and ${rest} more`;
}
