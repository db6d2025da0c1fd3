import { createContext, useContext } from 'react';
import { hasRole, type Role } from '../../../src/wire/contract/roles.ts';
import type { Me } from '../api/users.ts';
import type { ProjectRecord } from '../api/projects.ts';

interface ProjectContextValue {
  readonly project: ProjectRecord;
  readonly projects: readonly ProjectRecord[];
  readonly me: Me;
}

const ProjectContext = createContext<ProjectContextValue | undefined>(undefined);

export const ProjectProvider = ProjectContext.Provider;

export function useProjectContext(): ProjectContextValue {
  const value = useContext(ProjectContext);
  if (value === undefined) throw new Error('expected to be rendered inside a ProjectProvider');
  return value;
}

/** Returns the project of the current page. */
export function useProject(): ProjectRecord {
  return useProjectContext().project;
}

/** Tells whether the user has at least this role. The API enforces it; the page only hides actions that would be refused. */
export function useHasRole(role: Role): boolean {
  const { me } = useProjectContext();
  return hasRole(me.role, role);
}
