import createRouter from 'find-my-way';
import type { ApiRoute } from './api-route.ts';

const projectsPrefix = '/api/projects/:project_id';
const environmentsPrefix = '/api/environments/:project_id';
/** Longer values are no id or name of this service. */
export const paramLengthMax = 200;

/** The routes of one path, by method. */
export interface RoutesOfPath<Route> {
  /** With `:name` for parameters. */
  readonly pattern: string;
  readonly byMethod: Map<string, Route>;
}

export interface FoundPath<Route> extends RoutesOfPath<Route> {
  readonly params: Readonly<Record<string, string | undefined>>;
}

/** @param url the path as requested, perhaps with a query; a trailing slash is ignored */
export type FindPath<Route> = (url: string) => FoundPath<Route> | undefined;

/**
 * Finds routes by path. The router of the framework would have every path once for each method, slash and name: filling it took a quarter of
 * a start.
 */
export function createFindPath<Route extends { readonly route: Pick<ApiRoute, 'method' | 'path'> }>(
  routes: readonly Route[],
): FindPath<Route> {
  const byPattern = new Map<string, Map<string, Route>>();
  for (const each of routes) {
    for (const pattern of patternsOf(each.route)) {
      const byMethod = byPattern.get(pattern) ?? new Map<string, Route>();
      byPattern.set(pattern, byMethod.set(each.route.method, each));
      if (each.route.method === 'GET') byMethod.set('HEAD', each);
    }
  }
  const router = createRouter({ ignoreTrailingSlash: true, maxParamLength: paramLengthMax });
  for (const [pattern, byMethod] of byPattern) router.on('GET', pattern, unreached, { pattern, byMethod });
  return (url) => {
    const found = router.find('GET', url);
    return found === null ? undefined : { ...(found.store as RoutesOfPath<Route>), params: found.params };
  };
}

/** Paths of projects have two names. */
function patternsOf({ path }: Pick<ApiRoute, 'path'>): string[] {
  return path === projectsPrefix || path.startsWith(`${projectsPrefix}/`)
    ? [path, environmentsPrefix + path.slice(projectsPrefix.length)]
    : [path];
}

/** The router only finds. */
function unreached(): never {
  throw new Error('expected the server to call the routes that were found');
}
