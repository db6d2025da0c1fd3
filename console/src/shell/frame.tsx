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

/** The layout around every page of a project. */
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
      <EmptyState title="Project not found" action={<a href="/console/">Go to your projects</a>}>
        It may have been deleted or belong to another organisation.
      </EmptyState>
    );
  }
  return (
    <ProjectProvider value={{ project, projects: projects.data.results, me: me.data }}>
      <a
        href="#main"
        className="sr-only z-50 rounded-md bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to content
      </a>
      <div className="flex h-dvh">
        <Sidebar />
        <div className="flex min-w-0 flex-1 flex-col">
          <TopBar />
          <ConnectionBanner />
          {/* Focusable, so that a page without controls can be scrolled with the keyboard. */}
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

/** Explains why data may be stale. Empty while the connection works. */
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
    return 'This device is offline. The page updates as soon as the connection is back.';
  if (connection.state === 'unreachable') {
    return 'The service is not responding: it is restarting or has stopped. The page updates when it is back; nothing you typed is lost.';
  }
  const parts = connection.state === 'impaired' ? connection.parts.join('; ') : '';
  return `Part of the service is unavailable (${parts}). Events are still accepted; the page updates when it recovers.`;
}

const storageKey = 'millrace-sidebar';

/** The navigation on wide screens. The browser remembers whether it is collapsed. */
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
          label={narrow ? 'Expand navigation' : 'Collapse navigation'}
          icon={<Icon aria-hidden="true" className="size-4" />}
          onClick={toggle}
        />
      </div>
    </nav>
  );
}

/** Moves the focus to the start of the page after navigation, as a page load does. Filter changes leave it where it is. */
function useFocusOnNavigation(): RefObject<HTMLElement | null> {
  const ref = useRef<HTMLElement>(null);
  const pathname = useRouterState({ select: (state) => state.resolvedLocation?.pathname });
  const before = useRef(pathname);
  // Before paint: later it could steal the focus from a control that the user has already reached.
  useLayoutEffect(() => {
    if (before.current !== undefined && before.current !== pathname) {
      ref.current?.focus({ preventScroll: true });
      ref.current?.scrollTo({ top: 0 });
    }
    before.current = pathname;
  }, [pathname]);
  return ref;
}
