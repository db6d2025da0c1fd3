import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { projectsQuery } from '../api/projects.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorState } from '../components/error-state.tsx';
import { Loading } from '../components/loading.tsx';

/** Redirects /console/ to the home page of the first project. */
export function FirstProject() {
  const projects = useQuery(projectsQuery);
  const first = projects.data?.results[0];
  if (first !== undefined) {
    return <Navigate to="/projects/$projectId/home" params={{ projectId: String(first.id) }} replace />;
  }
  if (projects.error !== null) return <ErrorState error={projects.error} onRetry={() => void projects.refetch()} />;
  if (projects.isPending) return <Loading />;
  return <EmptyState title="No projects yet">Create one: npx millrace projects create "My project"</EmptyState>;
}
