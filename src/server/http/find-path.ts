import type { ApiRoute } from './api-route.ts';

const projectsPrefix = '/api/projects/:project_id';
const environmentsPrefix = '/api/environments/:project_id';
/** Longer values are no id or name of this service. */
const paramLengthMax = 200;

/** The routes of one path, by method. */
export interface RoutesOfPath<Route> {
  /** With `:name` for parameters. */
  readonly pattern: string;
  readonly byMethod: Map<string, Route>;
}

export interface FoundPath<Route> extends RoutesOfPath<Route> {
  readonly params: Readonly<Record<string, string>>;
}

/** @param url the path as requested, perhaps with a query; a trailing slash is ignored */
export type FindPath<Route> = (url: string) => FoundPath<Route> | undefined;

interface Node<Route> {
  readonly fixed: Map<string, Node<Route>>;
  param?: Node<Route>;
  routes?: RoutesOfPath<Route>;
}

/**
 * Finds routes by path. The framework's router has a tree for each method, with every path, slash and name of it in each: filling them
 * took a quarter of a start.
 */
export function createFindPath<Route extends { readonly route: Pick<ApiRoute, 'method' | 'path'> }>(
  routes: readonly Route[],
): FindPath<Route> {
  const root = newNode<Route>();
  for (const each of routes) {
    for (const pattern of patternsOf(each.route)) {
      const { byMethod } = routesAt(root, pattern);
      byMethod.set(each.route.method, each);
      if (each.route.method === 'GET') byMethod.set('HEAD', each);
    }
  }
  return (url) => {
    const segments = segmentsOf(url.replace(outsidePath, '')).map(decoded);
    const found = findRoutes(root, segments, 0);
    return found && { ...found, params: paramsOf(found.pattern, segments) };
  };
}

/** Proxies may send a URL with its origin. */
const outsidePath = /^https?:\/\/[^/?#]*|\/?(?:[?#].*)?$/gs;

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1);
}

function paramsOf(pattern: string, segments: readonly string[]): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [at, name] of segmentsOf(pattern).entries())
    if (name.startsWith(':')) params[name.slice(1)] = segments[at] ?? '';
  return params;
}

/** Paths of projects have two names. */
function patternsOf({ path }: Pick<ApiRoute, 'path'>): string[] {
  return path === projectsPrefix || path.startsWith(`${projectsPrefix}/`)
    ? [path, environmentsPrefix + path.slice(projectsPrefix.length)]
    : [path];
}

function newNode<Route>(): Node<Route> {
  return { fixed: new Map() };
}

function routesAt<Route>(root: Node<Route>, pattern: string): RoutesOfPath<Route> {
  let node = root;
  for (const segment of segmentsOf(pattern)) {
    if (segment.startsWith(':')) node = node.param ??= newNode();
    else {
      const next = node.fixed.get(segment) ?? newNode();
      node.fixed.set(segment, next);
      node = next;
    }
  }
  return (node.routes ??= { pattern, byMethod: new Map() });
}

/** Prefers a fixed segment to a parameter. */
function findRoutes<Route>(
  node: Node<Route>,
  segments: readonly string[],
  at: number,
): RoutesOfPath<Route> | undefined {
  const segment = segments[at];
  if (segment === undefined) return node.routes;
  const fixed = node.fixed.get(segment);
  const found = fixed && findRoutes(fixed, segments, at + 1);
  if (found !== undefined || node.param === undefined) return found;
  return segment === '' || segment.length > paramLengthMax ? undefined : findRoutes(node.param, segments, at + 1);
}

/** The framework refuses paths with invalid escapes; here they are kept as text. */
function decoded(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
