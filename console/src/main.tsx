import { CSPProvider } from '@base-ui/react/csp-provider';
import { Tooltip } from '@base-ui/react/tooltip';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { meQuery } from './api/users.ts';
import { projectsQuery } from './api/projects.ts';
import { createQueryClient } from './api/query-client.ts';
import { Announcer } from './components/announcer.tsx';
import { ToastProvider } from './components/toasts.tsx';
import { createConsoleRouter } from './router.tsx';
import { checkConnection } from './shell/connection.ts';
import { SessionGate } from './shell/session-gate.tsx';
import { createSessionState } from './shell/session-state.ts';
import './styles.css';

function start(container: HTMLElement): void {
  const session = createSessionState();
  const client = createQueryClient({
    onSignedOut: () => session.expire(),
    onUnavailable: () => checkConnection(client),
  });
  const router = createConsoleRouter(client);
  // Every page needs these three, so they load in parallel before the first render.
  void client.prefetchQuery(meQuery);
  void client.prefetchQuery(projectsQuery);
  void router.load();
  createRoot(container).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={client}>
          <Tooltip.Provider delay={400}>
            <ToastProvider>
              <Announcer>
                <SessionGate session={session}>
                  <RouterProvider router={router} />
                </SessionGate>
              </Announcer>
            </ToastProvider>
          </Tooltip.Provider>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}

const container = document.getElementById('root');
if (container !== null) start(container);
