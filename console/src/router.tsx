import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
} from '@tanstack/react-router';
import { prefetchPages } from './api/queries.ts';
import { eventPages } from './api/stored-events.ts';
import { Loading } from './components/loading.tsx';
import { activitySearch } from './pages/activity/activity-search.ts';
import { agreementsSearch } from './pages/agreements/agreements-search.ts';
import { deadLettersSearch } from './pages/dead-letters/dead-letters-search.ts';
import { filterOf } from './pages/events/events-query.ts';
import { eventsSearch } from './pages/events/events-search.ts';
import { exportsSearch } from './pages/exports/exports-search.ts';
import { groupsSearch } from './pages/groups/groups-search.ts';
import { homeSearch } from './pages/home/home-search.ts';
import { importRunSearch, importsSearch, newImportSearch } from './pages/imports/imports-search.ts';
import { keysSearch } from './pages/keys/keys-search.ts';
import { liveSearch } from './pages/live/live-search.ts';
import { personSearch, personsSearch } from './pages/persons/persons-search.ts';
import { prefetchPerson } from './pages/persons/persons-query.ts';
import { trackingPlanSearch } from './pages/tracking-plan/tracking-plan-search.ts';
import { transformationSearch, transformationsSearch } from './pages/transformations/transformations-search.ts';
import { usageSearch } from './pages/usage/usage-search.ts';
import { usersSearch } from './pages/users/users-search.ts';
import { warningsSearch } from './pages/warnings/warnings-search.ts';
import { noSearch } from './search.ts';
import { FirstProject } from './shell/first-project.tsx';
import { Frame } from './shell/frame.tsx';
import { NotFound } from './shell/not-found.tsx';
import { PageError } from './shell/page-error.tsx';

const rootRoute = createRootRouteWithContext<{ readonly client: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
  errorComponent: PageError,
});
const indexRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: FirstProject });
const projectRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'projects/$projectId',
  component: Frame,
  notFoundComponent: NotFound,
});

/** Loads what draws charts beside the page and its data, not after them. A failure appears where the chart is drawn. */
function loadCharts(): Promise<unknown> {
  return import('./components/chart-canvas.tsx').catch(() => undefined);
}

/** The pages of a project: path, search parameters, and a module that is loaded when the page is first opened. */
const pages = [
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'home',
    validateSearch: homeSearch,
    loader: () => void loadCharts(),
    component: lazyRouteComponent(() => import('./pages/home/home-page.tsx'), 'HomePage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'transformations',
    validateSearch: transformationsSearch,
    component: lazyRouteComponent(
      () => import('./pages/transformations/transformations-page.tsx'),
      'TransformationsPage',
    ),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'transformations/$configId',
    validateSearch: transformationSearch,
    component: lazyRouteComponent(
      () => import('./pages/transformations/transformation-page.tsx'),
      'TransformationPage',
    ),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'imports',
    validateSearch: importsSearch,
    component: lazyRouteComponent(() => import('./pages/imports/imports-page.tsx'), 'ImportsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'imports/new',
    validateSearch: newImportSearch,
    component: lazyRouteComponent(() => import('./pages/imports/new-import-page.tsx'), 'NewImportPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'imports/$configId',
    validateSearch: noSearch,
    component: lazyRouteComponent(() => import('./pages/imports/import-page.tsx'), 'ImportPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'imports/$configId/runs/$runId',
    validateSearch: importRunSearch,
    component: lazyRouteComponent(() => import('./pages/imports/import-run-page.tsx'), 'ImportRunPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'live',
    validateSearch: liveSearch,
    component: lazyRouteComponent(() => import('./pages/live/live-page.tsx'), 'LivePage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'events',
    validateSearch: eventsSearch,
    loaderDeps: ({ search }) => search,
    loader: ({ context: { client }, params: { projectId }, deps: search }) =>
      prefetchPages(client, eventPages(Number(projectId), filterOf(search, Date.now()))),
    component: lazyRouteComponent(() => import('./pages/events/events-page.tsx'), 'EventsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'persons',
    validateSearch: personsSearch,
    component: lazyRouteComponent(() => import('./pages/persons/persons-page.tsx'), 'PersonsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'persons/$distinctId',
    validateSearch: personSearch,
    loader: ({ context: { client }, params: { projectId, distinctId } }) =>
      void prefetchPerson(client, Number(projectId), distinctId),
    component: lazyRouteComponent(() => import('./pages/persons/person-page.tsx'), 'PersonPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'erasures',
    validateSearch: noSearch,
    component: lazyRouteComponent(() => import('./pages/erasures/erasures-page.tsx'), 'ErasuresPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'groups',
    validateSearch: groupsSearch,
    component: lazyRouteComponent(() => import('./pages/groups/groups-page.tsx'), 'GroupsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'tracking-plan',
    validateSearch: trackingPlanSearch,
    component: lazyRouteComponent(() => import('./pages/tracking-plan/tracking-plan-page.tsx'), 'TrackingPlanPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'exports',
    validateSearch: exportsSearch,
    component: lazyRouteComponent(() => import('./pages/exports/exports-page.tsx'), 'ExportsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'warnings',
    validateSearch: warningsSearch,
    component: lazyRouteComponent(() => import('./pages/warnings/warnings-page.tsx'), 'WarningsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'dead-letters',
    validateSearch: deadLettersSearch,
    component: lazyRouteComponent(() => import('./pages/dead-letters/dead-letters-page.tsx'), 'DeadLettersPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'activity',
    validateSearch: activitySearch,
    component: lazyRouteComponent(() => import('./pages/activity/activity-page.tsx'), 'ActivityPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'usage',
    validateSearch: usageSearch,
    loader: () => void loadCharts(),
    component: lazyRouteComponent(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'agreements',
    validateSearch: agreementsSearch,
    component: lazyRouteComponent(() => import('./pages/agreements/agreements-page.tsx'), 'AgreementsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'keys',
    validateSearch: keysSearch,
    component: lazyRouteComponent(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'settings',
    validateSearch: noSearch,
    component: lazyRouteComponent(() => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'users',
    validateSearch: usersSearch,
    component: lazyRouteComponent(() => import('./pages/users/users-page.tsx'), 'UsersPage'),
  }),
  createRoute({
    getParentRoute: () => projectRoute,
    path: 'status',
    validateSearch: noSearch,
    component: lazyRouteComponent(() => import('./pages/status/status-page.tsx'), 'StatusPage'),
  }),
] as const;

/** Creates the router for the paths below /console/. */
export function createConsoleRouter(client: QueryClient) {
  return createRouter({
    routeTree: rootRoute.addChildren([indexRoute, projectRoute.addChildren(pages)]),
    context: { client },
    basepath: '/console',
    defaultPreload: 'intent',
    defaultErrorComponent: PageError,
    defaultPendingComponent: Loading,
    scrollRestoration: false,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
