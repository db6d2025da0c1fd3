import { settingDefinitions, type Settings } from '../config/settings.ts';

/**
 * What a process brings up beside its stores; start.ts has one branch for each.
 * - capture: the routes that take bodies
 * - worker: the pipeline and the imports, each in a thread of its own, and the jobs of plugins
 * - api: the management API, its description and the pages
 */
export type Role = Settings['roles'][number];

/** Why these roles cannot run; undefined when they can. */
export function rolesProblem({ roles }: Pick<Settings, 'roles'>): string | undefined {
  const every = settingDefinitions.roles.choices;
  if (every.every((role) => roles.includes(role))) return undefined;
  return (
    `expected all roles (${every.join(', ')}) in one process, got: ${roles.join(', ')}. ` +
    'The event log lives in files of this machine that only one process may own; remove --roles / MILLRACE_ROLES.'
  );
}
