import { useQuery } from '@tanstack/react-query';
import { Outlet, useParams, useRouterState } from '@tanstack/react-router';
import { PanelLeftClose, PanelLeftOpen, WifiOff } from 'lucide-react';
import { type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { meQuery } from '../api/users.ts';
import { projectsQuery } from '../api/projects.ts';
import { classNames } from '../components/class-names.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorState } from '../components/error-state.tsx';
import { IconButton } from '../components/icon-button.tsx';
import { Loading } from '../components/loading.tsx';
import { UserText } from '../components/user-text.tsx';
import { type Connection, useConnection } from './connection.ts';
import { Navigation } from './navigation.tsx';
import { ProjectProvider, useProject } from './project-context.tsx';
import { TopBar } from './top-bar.tsx';

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

/** Says what is in the way and that it will be over by itself. Its place is empty while all is well. */
function ConnectionBanner() {
  const connection = useConnection();
  return (
    <div role="status">
      {connection.state !== 'ok' && (
        <div className="flex items-start gap-2 border-b border-line bg-warn-soft px-4 py-2 text-warn">
          <WifiOff aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          <p className="min-w-0">
            <UserText text={sentenceOf(connection)} />
          </p>
        </div>
      )}
    </div>
  );
}

function sentenceOf(connection: Connection): string {
  if (connection.state === 'offline')
    return 'This device is offline. The page goes on by itself as soon as it is back.';
  if (connection.state === 'unreachable') {
    return 'The service does not answer: it is being restarted, or it has stopped. The page goes on by itself; nothing that you typed is lost.';
  }
  const parts = connection.state === 'impaired' ? connection.parts.join('; ') : '';
  return `A part of the service does not work (${parts}). Events are still taken; the page goes on by itself.`;
}

const storageKey = 'millrace-sidebar';

/** The navigation on wide screens; it can be made narrow, and stays so. */
function Sidebar() {
  const { id } = useProject();
  const [narrow, setNarrow] = useState(() => localStorage.getItem(storageKey) === 'narrow');
  const toggle = (): void => {
    localStorage.setItem(storageKey, narrow ? 'wide' : 'narrow');
    setNarrow(!narrow);
  };
  const Icon = narrow ? PanelLeftOpen : PanelLeftClose;
  return (
    <nav
      aria-label="Pages"
      className={classNames(
        'hidden shrink-0 flex-col border-r border-line bg-sunken md:flex',
        narrow ? 'w-12' : 'w-52',
      )}
    >
      <div className="flex h-12 items-center gap-2 border-b border-line px-3">
        <img src="/console/icon.svg" alt="" className="size-6" />
        <span className={classNames('font-semibold tracking-tight', narrow && 'sr-only')}>Millrace</span>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <Navigation projectId={id} narrow={narrow} />
      </div>
      <div className="border-t border-line p-2">
        <IconButton
          label={narrow ? 'Widen the navigation' : 'Narrow the navigation'}
          icon={<Icon aria-hidden="true" className="size-4" />}
          onClick={toggle}
        />
      </div>
    </nav>
  );
}

/** After a change of page the focus is at its beginning, as after a load; a change of filters leaves it where it is. */
function useFocusOnNavigation(): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef(pathname);
  // Before the page is painted: later it would take the focus from what somebody has gone to meanwhile.
  useLayoutEffect(() => {
    if (before.current !== undefined && before.current !== pathname) {
      ref.current?.focus({ preventScroll: true });
      ref.current?.scrollTo({ top: 0 });
    }
    before.current = pathname;
  }, [pathname]);
  return ref;
}
