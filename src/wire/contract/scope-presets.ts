import { Type } from 'typebox';
import { orNull } from './or-null.ts';
import { roleMeanings, roles } from './roles.ts';
import { scopeObjects, type GrantedScope } from './scopes.ts';

export interface ScopePreset {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly scopes: readonly GrantedScope[];
}

const objects = Object.keys(scopeObjects) as (keyof typeof scopeObjects)[];

/** Scopes for the most common uses of keys. */
export const scopePresets: readonly ScopePreset[] = [
  {
    id: 'look',
    name: 'Read everything',
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
    description: 'Deployment of plugins and configs.',
    scopes: ['plugin:write', 'tracking_plan:write', 'project:read', 'activity_log:read'],
  },
  {
    id: 'imports',
    name: 'Run imports',
    description: 'Start, control, verify and undo imports, including from the command line.',
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
    description:
      "Everything that the key's user may do, now and in the future, except erasing, which has a separate scope.",
    scopes: ['*'],
  },
];

/** Scopes and roles that can be granted, for clients that offer a choice. */
export const scopeCatalogueSchema = Type.Object({
  scopes: Type.Array(
    Type.Object({
      object: Type.String(),
      description: Type.String(),
      read: Type.String({ description: 'Scope for reading.' }),
      write: Type.String({ description: 'Scope for writing, which implies reading.' }),
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
  key_days_max: orNull(Type.Integer(), 'Days within which new keys must expire. Null if they need no expiry.'),
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
