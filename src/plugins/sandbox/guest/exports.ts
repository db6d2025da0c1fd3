import type { Described } from '../sandbox.ts';
import { isArray, ownKeys } from './intrinsics.ts';
import { onEventOf } from './lib/index.ts';

export type PluginFunction = (...args: readonly unknown[]) => unknown;
type Destination = Record<string, unknown>;

const methodNames = [
  'setupPlugin',
  'teardownPlugin',
  'processEvent',
  'processEventBatch',
  'onEvent',
  'onSnapshot',
  'onAction',
  'exportEvents',
  'composeWebhook',
  'getSettings',
];
const schedules = ['runEveryMinute', 'runEveryHour', 'runEveryDay'];

export interface PluginExports {
  readonly described: Described;
  method(name: string): PluginFunction | undefined;
  scheduled(name: string): PluginFunction | undefined;
  job(name: string): PluginFunction | undefined;
}

/**
 * Reads a plugin's exports from `exports`, `exports.default` or `module.exports`, the first that has the name. If they are all
 * empty, its top-level functions count. `composeWebhook` provides a missing `onEvent`. Throws if a metric has no known type.
 */
export function readExports(exported: unknown, module: { readonly exports: unknown }, top: object): PluginExports {
  const found = [exported, isObject(exported) ? exported['default'] : undefined, module.exports].filter(isObject);
  const destinations = found.some((each) => ownKeys(each).some((key) => key !== 'default' && key !== '__esModule'))
    ? found
    : [top as Destination];
  const look = (name: string): unknown =>
    destinations.find((each) => each[name] !== undefined && each[name] !== null)?.[name];
  const compose = asFunction(look('composeWebhook'));
  const sending = compose && onEventOf(compose);
  const method = (name: string): PluginFunction | undefined =>
    asFunction(look(name)) ?? (name === 'onEvent' ? sending : undefined);
  const jobs = functionsOf(look('jobs'));
  return {
    described: {
      methods: methodNames.filter((name) => method(name) !== undefined),
      scheduledTasks: schedules.filter((name) => method(name) !== undefined),
      jobs: [...jobs.keys()],
      metrics: readMetrics(look('metrics')),
    },
    method,
    scheduled: (name) => (schedules.includes(name) ? method(name) : undefined),
    job: (name) => jobs.get(name),
  };
}

function isObject(value: unknown): value is Destination {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function asFunction(value: unknown): PluginFunction | undefined {
  return typeof value === 'function' ? (value as PluginFunction) : undefined;
}

function functionsOf(value: unknown): ReadonlyMap<string, PluginFunction> {
  const functions = new Map<string, PluginFunction>();
  if (!isObject(value)) return functions;
  for (const [name, each] of Object.entries(value)) {
    if (typeof each === 'function') functions.set(name, each as PluginFunction);
  }
  return functions;
}

function readMetrics(value: unknown): Described['metrics'] {
  const metrics: Record<string, 'sum' | 'min' | 'max'> = {};
  if (!isObject(value) || isArray(value)) return metrics;
  for (const [name, type] of Object.entries(value)) {
    if (type !== 'sum' && type !== 'min' && type !== 'max') {
      throw new TypeError(`expected the metric "${name}" to be sum, min or max, got ${String(type)}`);
    }
    metrics[name] = type;
  }
  return metrics;
}
