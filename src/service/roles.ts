import { settingDefinitions, type Settings } from '../config/settings.ts';

/** Why these roles cannot run; undefined when they can. */
export function rolesProblem({ roles }: Pick<Settings, 'roles'>): string | undefined {
  const every = settingDefinitions.roles.choices;
  if (every.every((role) => roles.includes(role))) return undefined;
  return (
    `expected all roles (${every.join(', ')}) in one process, got: ${roles.join(', ')}. ` +
    'The event log lives in files of this machine that only one process may own; remove --roles / MILLRACE_ROLES.'
  );
}
