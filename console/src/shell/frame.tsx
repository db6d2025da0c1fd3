import { useQuery } from '@tanstack/react-query';
import { Outlet, useParams } from '@tanstack/react-router';
import { meQuery } from '../api/me.ts';
import { projectsQuery } from '../api/projects.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorState } from '../components/error-state.tsx';
import { Loading } from '../components/loading.tsx';
import { ConnectionBanner } from './connection-banner.tsx';
import { ProjectProvider } from './project-context.tsx';
import { Sidebar } from './sidebar.tsx';
import { TopBar } from './top-bar.tsx';
import { useFocusOnNavigation } from './use-focus-on-navigation.ts';

/** Everything around the page of a project. */
export function Frame() {
  const { projectId } = useParams({ from: '/projects/$projectId' });
  const me = useQuery(meQuery);
  const projects = useQuery(projectsQuery);
  const mainRef = useFocusOnNavigation();
  const project = projects.data?.results.find(({ id }) => String(id) === projectId);
  if (projects.data === undefined || me.data === undefined) {
    return projects.error === null ? (
      <Loading />
    ) : (
      <ErrorState error={projects.error} onRetry={() => void projects.refetch()} busy={projects.isFetching} />
    );
  }
  if (project === undefined) {
    return (
      <EmptyState title="There is no such project" action={<a href="/console/">To your projects</a>}>
        It may have been deleted, or it belongs to another organisation.
      </EmptyState>
    );
  }
  return (
    <ProjectProvider value={{ project, projects: projects.data.results, me: me.data }}>
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the page
      </a>
      <div className="flex h-dvh">
        <Sidebar />
        <div className="flex min-w-0 flex-1 flex-col">
          <TopBar />
          <ConnectionBanner />
          {/* In the order of Tab: a page without controls is scrolled by keyboard too. */}
          <main id="main" ref={mainRef} tabIndex={0} className="min-h-0 flex-1 overflow-auto outline-none">
            <div className="mx-auto w-full max-w-screen-2xl p-4 sm:p-6">
              <Outlet />
            </div>
          </main>
        </div>
      </div>
    </ProjectProvider>
  );
}
