import type { Role, Settings } from './config/settings.ts';

export type Component = 'capture-routes' | 'api-routes' | 'event-log' | 'event-store' | 'pipeline' | 'jobs';

/** What each role runs. A role selects components; no component asks which role it runs in. */
export const roleComponents: Readonly<Record<Role, readonly Component[]>> = {
  capture: ['capture-routes', 'event-log'],
  worker: ['event-log', 'event-store', 'pipeline', 'jobs'],
  api: ['api-routes', 'event-store'],
};

const everyRole = Object.keys(roleComponents) as Role[];

/** Components of these roles. */
export function componentsOf(roles: readonly Role[]): ReadonlySet<Component> {
  return new Set(roles.flatMap((role) => roleComponents[role]));
}

/** Why these roles cannot run on these stores; undefined when they can. */
export function rolesProblem(settings: Pick<Settings, 'roles' | 'databaseUrl' | 'clickhouseUrl'>): string | undefined {
  if (everyRole.every((role) => settings.roles.includes(role))) return undefined;
  const asked = settings.roles.join(', ');
  return (
    `expected all roles (${everyRole.join(', ')}) in one process, got: ${asked}. ` +
    'The event log lives in files of this machine that only one process may own; remove --roles / MILLRACE_ROLES.'
  );
}
