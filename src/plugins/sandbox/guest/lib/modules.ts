import { Buffer } from './buffer.ts';
import { createCrypto } from './crypto.ts';
import type { GuestDeps } from './globals.ts';
import { isLazyModule, lazyModules } from './lazy-modules.ts';
import { RetryError } from './retry-error.ts';
import { createUrlModule } from './url-module.ts';

/** The dependencies of a module that is loaded on its first `require`: see lazy/. */
export interface LazyDeps extends GuestDeps {
  readonly Buffer: typeof Buffer;
  readonly require: (name: string) => unknown;
}

const advice: Readonly<Record<string, string>> = {
  'snowflake-sdk': "call Snowflake's SQL API with fetch, or export to S3 and copy from there",
  '@google-cloud/bigquery': "call BigQuery's REST API with fetch; jsonwebtoken signs the service account's token",
  '@google-cloud/pubsub': "call Pub/Sub's REST API with fetch; jsonwebtoken signs the service account's token",
  '@google-cloud/storage': "call Cloud Storage's JSON API with fetch; jsonwebtoken signs the service account's token",
  fs: 'there are no files here; store persistent values in meta.storage',
  process: 'there is no process here; settings are in meta.config',
  child_process: 'programs cannot be started here',
  http: 'make requests with fetch',
  https: 'make requests with fetch',
};

export function createModules(deps: GuestDeps): (name: string) => unknown {
  const loaded = new Map<string, unknown>();
  const require = (given: string): unknown => {
    const name = String(given).replace(/^node:/, '');
    if (!loaded.has(name)) loaded.set(name, withDefault(load(name)));
    return loaded.get(name);
  };
  const lazyDeps: LazyDeps = { ...deps, Buffer, require };
  const eager: Readonly<Record<string, () => unknown>> = {
    crypto: () => createCrypto(deps.bridge),
    url: () => createUrlModule(deps),
    'node-fetch': () => deps.fetch,
    buffer: () => ({ Buffer }),
    '@posthog/plugin-scaffold': () => ({ RetryError }),
    'aws-sdk/clients/s3': () => Reflect.get(Object(require('aws-sdk')), 'S3'),
    'aws-sdk/clients/kinesis': () => Reflect.get(Object(require('aws-sdk')), 'Kinesis'),
  };
  const load = (name: string): unknown => {
    if (Object.hasOwn(eager, name)) return eager[name]?.();
    if (isLazyModule(name)) return loadLazy(lazyDeps, name);
    throw notThere(name, [...Object.keys(eager), ...lazyModules]);
  };
  return require;
}

/** Under another name it evaluates at the top level. The code is ours. */
// oxlint-disable-next-line no-eval
const evaluate = globalThis.eval;

function loadLazy(deps: LazyDeps, name: string): unknown {
  const code = deps.bridge.callSync('module', [name]);
  const create: unknown = evaluate(String(code));
  if (typeof create !== 'function') throw new Error(`expected the module ${name} to be a function`);
  return create(deps);
}

/** Makes `import x from`, `import * as x from`, `require(…)` and `require(…).default` equivalent. */
function withDefault(module: unknown): unknown {
  if ((typeof module !== 'object' && typeof module !== 'function') || module === null || 'default' in module)
    return module;
  Object.defineProperty(module, 'default', { value: module, writable: true, configurable: true, enumerable: false });
  return module;
}

function notThere(name: string, known: readonly string[]): Error {
  const instead = Object.hasOwn(advice, name) ? advice[name] : `import one of ${known.join(', ')}, or bundle it`;
  const error = new Error(`Cannot import "${name}" in a plugin: ${instead}`);
  return Object.assign(error, { code: 'MODULE_NOT_FOUND' });
}
