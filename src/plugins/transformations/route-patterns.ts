import { SettingsError, wrongSetting } from '../plugin.ts';
import { isObject, type JsonValue } from '../../base/json.ts';
import { decodePercent } from './properties/address.ts';

/** A segment of a route: text, a parameter (`:id`, `:id.json`), or the rest of the path (`*`). */
type Segment =
  | { readonly kind: 'text'; readonly text: string; readonly caseSensitive: boolean }
  | { readonly kind: 'parameter'; readonly mask: string; readonly suffix: string; readonly censored: boolean }
  | { readonly kind: 'rest'; readonly censored: boolean };

interface Route {
  readonly segments: readonly Segment[];
  readonly score: number;
  /** Position in the list of routes, and in the children of each. */
  readonly place: readonly number[];
}

/** Replaces the censored segments of the best matching route by `:name`. */
export type RouteCensor = (path: string) => string;

const depthMax = 16;
const routesMax = 2000;

/**
 * Compiles routes as in React Router 6: `[{ path, include, caseSensitive, index, children }]`. `include` lists the parameters to
 * censor, of the route and of its ancestors; of several matching routes the most specific one decides.
 * @throws SettingsError for an invalid list
 */
export function createRouteCensor(setting: string, given: JsonValue): RouteCensor {
  if (!Array.isArray(given)) throw wrongSetting(setting, 'expected a JSON list of routes');
  const routes: Route[] = [];
  addRoutes({ setting, routes }, given, { path: '', parts: [], include: new Set(), place: [] });
  routes.sort((a, b) => b.score - a.score || comparePlaces(a.place, b.place));
  return (path) => {
    const end = pathEnd(path);
    const raw = path.slice(0, end).split('/');
    const decoded = decode(path.slice(0, end)).split('/');
    // A path without a leading slash matches no route.
    if (raw.length !== decoded.length || raw[0] !== '') return path;
    for (const route of routes) {
      const censored = applied(route.segments, raw, decoded);
      if (censored !== undefined) return censored + path.slice(end);
    }
    return path;
  };
}

interface Above {
  readonly path: string;
  readonly parts: readonly { readonly path: string; readonly caseSensitive: boolean }[];
  readonly include: ReadonlySet<string>;
  readonly place: readonly number[];
}

function addRoutes(list: { setting: string; routes: Route[] }, given: readonly JsonValue[], above: Above): void {
  if (above.place.length >= depthMax) throw wrongSetting(list.setting, 'routes nest too deeply');
  given.forEach((route, index) => {
    const where = `setting "${list.setting}", route ${[...above.place, index].map((each) => each + 1).join('.')}`;
    if (!isObject(route)) throw new SettingsError(`${where}: expected an object with "path" and "include"`);
    const { path, include = [], children = [], caseSensitive } = route;
    if (path !== undefined && path !== null && typeof path !== 'string') {
      throw new SettingsError(`${where}: "path" must be text`);
    }
    if (!Array.isArray(include) || !Array.isArray(children)) {
      throw new SettingsError(`${where}: "include" and "children" must be lists`);
    }
    const names = include.filter((name) => typeof name === 'string');
    for (const form of optionalForms(path ?? '')) {
      const own = form.startsWith('/') && above.path !== '' ? withoutStart(form, above.path, where) : form;
      const here: Above = {
        path: join(above.path, own),
        parts: [...above.parts, { path: own, caseSensitive: caseSensitive === true }],
        include: new Set([...above.include, ...names]),
        place: [...above.place, index],
      };
      addRoutes(list, children, here);
      const isIndex = route['index'] === true;
      if (typeof path === 'string' || isIndex) list.routes.push(compile(here, isIndex));
      if (list.routes.length > routesMax) {
        throw wrongSetting(list.setting, `more than ${routesMax} routes; an optional segment doubles them`);
      }
    }
  });
}

function withoutStart(path: string, start: string, where: string): string {
  if (path.startsWith(start)) return path.slice(start.length);
  throw new SettingsError(`${where}: an absolute path must start with the path of its parent "${start}"`);
}

function join(start: string, path: string): string {
  return `${start}/${path}`.replace(/\/\/+/g, '/');
}

/** Expands `/one/:two?/three` with and without the optional segment, longer forms first. */
function optionalForms(path: string): string[] {
  if (!path.includes('?')) return [path];
  let forms: string[][] = [[]];
  for (const segment of path.split('/').toReversed()) {
    const required = segment.replace(/\?$/, '');
    const withIt = forms.map((form) => [required, ...form]);
    forms = segment.endsWith('?') && forms.length < routesMax ? withIt.concat(forms) : withIt;
  }
  return forms.map((form) => form.join('/'));
}

function compile({ path, parts, include, place }: Above, isIndex: boolean): Route {
  const endsInRest = path.endsWith('*');
  const segments = parts.flatMap((part) =>
    part.path
      .replace(/\/*\*$/, '')
      .split('/')
      .filter((text) => text !== '')
      .map((text) => segmentOf(text, include, part.caseSensitive)),
  );
  if (endsInRest) segments.push({ kind: 'rest', censored: include.has('*') });
  return { segments, score: scoreOf(path, isIndex), place };
}

function segmentOf(text: string, include: ReadonlySet<string>, caseSensitive: boolean): Segment {
  const name = /^:(\w+)/.exec(text)?.[1];
  if (name === undefined) return { kind: 'text', text: caseSensitive ? text : text.toLowerCase(), caseSensitive };
  return { kind: 'parameter', mask: text, suffix: text.slice(name.length + 1), censored: include.has(name) };
}

/** More and longer segments are more specific; the numbers are React Router's. */
function scoreOf(path: string, isIndex: boolean): number {
  const segments = path.split('/');
  const start = segments.length + (segments.includes('*') ? -2 : 0) + (isIndex ? 2 : 0);
  return segments.reduce((score, segment) => {
    if (segment === '*') return score;
    if (/^:\w+$/.test(segment)) return score + 3;
    return score + (segment === '' ? 1 : 10);
  }, start);
}

/** Only sibling routes are ordered by position; the stable sort keeps the others. */
function comparePlaces(a: readonly number[], b: readonly number[]): number {
  const last = a.length - 1;
  const sideBySide = a.length === b.length && a.slice(0, -1).every((each, index) => each === b[index]);
  return sideBySide ? (a[last] ?? 0) - (b[last] ?? 0) : 0;
}

/** Returns the censored path, or `undefined` if the route does not match. The first item of both lists is empty because of the leading slash. */
function applied(segments: readonly Segment[], raw: readonly string[], decoded: readonly string[]): string | undefined {
  const result = [''];
  for (const [index, segment] of segments.entries()) {
    const at = index + 1;
    if (segment.kind === 'rest') {
      const rest = raw.slice(at).join('/');
      if (segment.censored && rest !== '') result.push(':*');
      else result.push(...raw.slice(at));
      return result.join('/');
    }
    const text = decoded[at];
    if (text === undefined || !matches(segment, text)) return undefined;
    result.push(segment.kind === 'parameter' && segment.censored ? segment.mask : (raw[at] ?? ''));
  }
  const rest = raw.slice(segments.length + 1);
  // Trailing slashes are ignored.
  return rest.every((text) => text === '') ? [...result, ...rest].join('/') : undefined;
}

function matches(segment: Exclude<Segment, { kind: 'rest' }>, text: string): boolean {
  if (segment.kind === 'text') return segment.text === (segment.caseSensitive ? text : text.toLowerCase());
  if (segment.suffix === '') return text !== '';
  return text.length > segment.suffix.length && text.toLowerCase().endsWith(segment.suffix.toLowerCase());
}

function pathEnd(path: string): number {
  const end = path.search(/[?#]/);
  return end === -1 ? path.length : end;
}

/** Routes are written unencoded; encoded slashes stay encoded. */
function decode(path: string): string {
  return decodePercent(path, decodeURI);
}
