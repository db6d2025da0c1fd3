import { createContext, useContext } from 'react';
import type { Me, Role } from '../api/me.ts';
import type { ProjectRecord } from '../api/projects.ts';

export interface ProjectContextValue {
  readonly project: ProjectRecord;
  readonly projects: readonly ProjectRecord[];
  readonly me: Me;
}

const ProjectContext = createContext<ProjectContextValue | undefined>(undefined);

export const ProjectProvider = ProjectContext.Provider;

export function useProjectContext(): ProjectContextValue {
  const value = useContext(ProjectContext);
  if (value === undefined) throw new Error('expected to be below a page of a project');
  return value;
}

/** The project whose page it is. */
export function useProject(): ProjectRecord {
  return useProjectContext().project;
}

const rank: Readonly<Record<Role, number>> = { viewer: 0, editor: 1, admin: 2 };

/** Whether the user has at least this role. The API enforces it; the page only hides what would be refused. */
export function useMay(role: Role): boolean {
  const { me } = useProjectContext();
  return rank[me.role ?? 'admin'] >= rank[role];
}
