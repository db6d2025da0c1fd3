import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { transformSync } from 'esbuild';
import type { TransformEvent } from '../../src/plugins/plugin.ts';
import type { JsonObject } from '../../src/base/json.ts';

/**
 * Runs the source of a published plugin as its own service does: setupPlugin, then events one after the other. The sources are
 * not part of this repository; a folder named by MILLRACE_PUBLISHED_PLUGINS holds one folder per plugin with its index.ts or
 * index.js.
 */

export interface PublishedMeta {
  readonly config: Readonly<Record<string, unknown>>;
  readonly attachments?: Readonly<Record<string, { readonly contents: string }>>;
  readonly geoip?: { readonly locate: (ip: string) => unknown };
  readonly fetch?: (url: string) => Promise<{ readonly status: number; readonly json: () => Promise<unknown> }>;
}

/** A classic event: the person's properties lie beside the others. */
type ClassicEvent = Record<string, unknown>;
type Exports = Readonly<Record<string, ((...args: readonly unknown[]) => unknown) | undefined>>;

export type Outcome =
  | { readonly kind: 'kept'; readonly event: Pick<TransformEvent, 'uuid' | 'event' | 'distinct_id' | 'properties'> }
  | { readonly kind: 'dropped' }
  | { readonly kind: 'failed'; readonly message: string };

export const publishedFolder: string | undefined = process.env['MILLRACE_PUBLISHED_PLUGINS'];

export function sourceOf(name: string): string | undefined {
  if (publishedFolder === undefined) return undefined;
  const folder = publishedFolder;
  return ['index.ts', 'index.js'].map((file) => join(folder, name, file)).find((path) => existsSync(path));
}

const silent = { log: ignore, info: ignore, warn: ignore, error: ignore, debug: ignore };
function ignore(): void {
  // What a plugin logs is no part of the comparison.
}

const require = createRequire(import.meta.url);
/** What the plugins import, besides what Node has. */
const modules: Readonly<Record<string, unknown>> = {
  '~/common/utils/json-parse': { parseJSON: JSON.parse },
  '~/common/utils/tracked-re2': { createTrackedRE2: (pattern: string) => new RegExp(pattern) },
};

const scripts = new Map<string, Script>();

function scriptOf(path: string): Script {
  const known = scripts.get(path);
  if (known !== undefined) return known;
  const loader = path.endsWith('.ts') ? 'ts' : 'js';
  const { code } = transformSync(readFileSync(path, 'utf8'), { loader, format: 'cjs' });
  const script = new Script(code, { filename: path });
  scripts.set(path, script);
  return script;
}

function load(path: string, meta: PublishedMeta): Exports {
  const module: { exports: Exports } = { exports: {} };
  const context = createContext({
    module,
    exports: module.exports,
    require: (name: string): unknown => modules[name] ?? (require(name) as unknown),
    console: silent,
    fetch: meta.fetch,
    Buffer,
    URL,
    URLSearchParams,
  });
  scriptOf(path).runInContext(context);
  return module.exports;
}

export type Process = (event: TransformEvent) => Promise<Outcome>;

/** @throws what setupPlugin throws. */
export async function startPublished(path: string, given: PublishedMeta): Promise<Process> {
  const plugin = load(path, given);
  const meta = { ...given, attachments: given.attachments ?? {}, global: {}, ...memory(), logger: silent };
  await plugin['setupPlugin']?.(meta);
  const process = plugin['processEvent'];
  const batch = plugin['processEventBatch'];
  return async (event) => {
    try {
      const classic = asClassic(event);
      const given = structuredClone(classic);
      if (process !== undefined) return outcomeOf(await process(classic, meta), given);
      const results = (await batch?.([classic], meta)) as readonly unknown[];
      return outcomeOf(results[0], given);
    } catch (error) {
      return { kind: 'failed', message: String(error) };
    }
  };
}

function asClassic(event: TransformEvent): ClassicEvent {
  const copy = JSON.parse(JSON.stringify(event)) as TransformEvent;
  const { $set, $set_once } = copy.properties;
  return {
    ...copy,
    ip: null,
    site_url: '',
    now: copy.timestamp,
    ...($set === undefined ? {} : { $set: structuredClone($set) }),
    ...($set_once === undefined ? {} : { $set_once: structuredClone($set_once) }),
  };
}

/** As the service stores it: JSON, with what the plugin changed beside the properties put into them. */
function outcomeOf(result: unknown, given: ClassicEvent): Outcome {
  if (typeof result !== 'object' || result === null) return { kind: 'dropped' };
  const event = JSON.parse(JSON.stringify(result)) as TransformEvent & ClassicEvent;
  const properties: JsonObject = { ...event.properties };
  for (const key of ['$set', '$set_once'] as const) {
    const before = objectOf(given[key]);
    const after = objectOf(event[key]);
    const within = { ...objectOf(properties[key]) };
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const value = after[name];
      if (JSON.stringify(value) === JSON.stringify(before[name])) continue;
      if (value === undefined) delete within[name];
      else within[name] = value;
    }
    if (Object.keys(within).length > 0 || isPlain(properties[key])) properties[key] = within;
  }
  return {
    kind: 'kept',
    event: { uuid: event.uuid, event: event.event, distinct_id: event.distinct_id, properties },
  };
}

function isPlain(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectOf(value: unknown): JsonObject {
  return isPlain(value) ? value : {};
}

function memory() {
  const cache = new Map<string, unknown>();
  const storage = new Map<string, unknown>();
  const over = (values: Map<string, unknown>) => ({
    get: async (key: string, standard?: unknown) => values.get(key) ?? standard,
    set: async (key: string, value: unknown) => void values.set(key, value),
  });
  return { cache: over(cache), storage: over(storage) };
}
