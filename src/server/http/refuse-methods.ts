import type { FastifyInstance } from 'fastify';
import { ApiError } from '../../wire/contract/errors.ts';

/** Every method that the server can route. */
const methods: readonly string[] = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY'];

/** Answers 405 with Allow to all methods of the path except the known ones. */
export function refuseOtherMethods(app: FastifyInstance, url: string, known: ReadonlySet<string>): void {
  app.route({
    method: methods.filter((method) => !known.has(method)),
    url,
    // Before the body is read, which is not needed.
    onRequest: async ({ method }) => {
      throw notAllowed(method, known);
    },
    handler: unreached,
  });
}

async function unreached(): Promise<never> {
  throw new Error('expected the hook before this handler to answer');
}

function notAllowed(method: string, known: ReadonlySet<string>): ApiError {
  const allow = methods.filter((each) => known.has(each)).join(', ');
  return new ApiError('method_not_allowed', `Method "${method}" not allowed.`, { headers: { allow } });
}

/** A path with parameters and the methods that are served there. */
export interface ServedPath {
  readonly url: string;
  readonly known: ReadonlySet<string>;
}

export interface MethodRefusals {
  /** Refuses the other methods of all these paths: with routes of `app` where necessary, otherwise with `find`. */
  add(app: FastifyInstance, paths: readonly ServedPath[]): void;
  /** For requests without a route. `undefined` if the path is not served at all. */
  find(request: {
    readonly method: string;
    readonly url: string;
  }): { readonly route: string; readonly error: ApiError } | undefined;
}

/**
 * Answers like refuseOtherMethods. Routes for seven methods of each path would take a tenth of the processor time of a start, so only paths
 * that share requests with another path have them, as `/plugins/:id` does with `/plugins/repository`: otherwise the other one would answer.
 */
export function createMethodRefusals(paramLengthMax: number): MethodRefusals {
  const root = newNode();
  return {
    add(app, paths) {
      for (const path of paths) insert(root, path);
      for (const { url, known } of paths) {
        if (matching(root, segmentsOf(url), isParam).length > 1) refuseOtherMethods(app, url, known);
      }
    },
    find({ method, url }) {
      if (!methods.includes(method)) return undefined;
      const segments = segmentsOf(decodeURI(url.replace(/[?#].*$/s, '')));
      const [path, other] = matching(root, segments, () => false);
      if (path === undefined || other !== undefined || path.known.has(method)) return undefined;
      const params = segments.filter((_, at) => isParam(segmentsOf(path.url)[at] ?? ''));
      if (params.some(({ length }) => length > paramLengthMax)) return undefined;
      return { route: path.url, error: notAllowed(method, path.known) };
    },
  };
}

interface PathNode {
  readonly children: Map<string, PathNode>;
  path?: ServedPath;
}

function newNode(): PathNode {
  return { children: new Map() };
}

const anyParam = ':';

function isParam(segment: string): boolean {
  return segment.startsWith(anyParam);
}

function segmentsOf(path: string): string[] {
  return path.split('/').slice(1);
}

function insert(root: PathNode, path: ServedPath): void {
  let node = root;
  for (const segment of segmentsOf(path.url)) {
    const key = isParam(segment) ? anyParam : segment;
    const child = node.children.get(key) ?? newNode();
    node.children.set(key, child);
    node = child;
  }
  node.path = path;
}

/** Returns the paths that match the segments. A segment that `isAny` matches every segment. */
function matching(node: PathNode, segments: readonly string[], isAny: (segment: string) => boolean): ServedPath[] {
  const [segment, ...rest] = segments;
  if (segment === undefined) return node.path === undefined ? [] : [node.path];
  const { children } = node;
  const found = isAny(segment) ? children.values() : new Set([children.get(segment), children.get(anyParam)]);
  return [...found].flatMap((child) => (child === undefined ? [] : matching(child, rest, isAny)));
}
