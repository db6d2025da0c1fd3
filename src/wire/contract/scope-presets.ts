import { Type } from 'typebox';
import { roleMeanings, roles } from './roles.ts';
import { scopeObjects, type GrantedScope } from './scopes.ts';

export interface ScopePreset {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly GrantedScope[];
}

const objects = Object.keys(scopeObjects) as (keyof typeof scopeObjects)[];

/** What most keys are for. */
export const scopePresets: readonly ScopePreset[] = [
  {
    id: 'look',
    name: 'Look at everything',
    description: 'Dashboards and monitoring.',
    scopes: objects.map((object) => `${object}:read` as const),
  },
  {
    id: 'events',
    name: 'Read events and persons',
    description: 'Exports and notebooks.',
    scopes: ['query:read', 'person:read', 'group:read', 'project:read'],
  },
  {
    id: 'plugins',
    name: 'Manage transformations',
    description: 'Deployment of plugins and their configs from elsewhere.',
    scopes: ['plugin:write', 'project:read', 'activity_log:read'],
  },
  {
    id: 'imports',
    name: 'Run imports',
    description: 'Start, steer, verify and take back imports, the command line included.',
    scopes: [
      'plugin:write',
      'import_undo:write',
      'historical_migration:write',
      'query:read',
      'person:read',
      'group:read',
      'project:read',
    ],
  },
  {
    id: 'all',
    name: 'Everything',
    description: 'All that the user of the key may do, now and later.',
    scopes: ['*'],
  },
];

/** What keys and roles can be given, for whoever offers a choice. */
export const scopeCatalogueSchema = Type.Object({
  scopes: Type.Array(
    Type.Object({
      object: Type.String(),
      description: Type.String(),
      read: Type.String({ description: 'Scope to look.' }),
      write: Type.String({ description: 'Scope to change; implies the other.' }),
    }),
  ),
  presets: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      description: Type.String(),
      scopes: Type.Array(Type.String()),
    }),
  ),
  roles: Type.Array(Type.Object({ role: Type.Enum([...roles]), description: Type.String() })),
});

export const scopeCatalogue = {
  scopes: objects.map((object) => ({
    object,
    description: scopeObjects[object],
    read: `${object}:read`,
    write: `${object}:write`,
  })),
  presets: scopePresets,
  roles: roles.map((role) => ({ role, description: roleMeanings[role] })),
};
