import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { isLazyModule, lazyModules, type LazyModule } from '../guest/lib/lazy-modules.ts';
import { textArgument } from './arguments.ts';
import type { SyncOps } from './ops.ts';

/** One of our files that exports `create(deps)`, or the name of a package. */
const sources: Readonly<Record<LazyModule, URL | string>> = {
  '@posthog/plugin-contrib': new URL('../guest/lib/lazy/plugin-contrib.ts', import.meta.url),
  'aws-sdk': new URL('../guest/lib/lazy/aws.ts', import.meta.url),
  jsonwebtoken: new URL('../guest/lib/lazy/jsonwebtoken.ts', import.meta.url),
  pg: new URL('../guest/lib/lazy/postgres.ts', import.meta.url),
  stream: new URL('../guest/lib/lazy/stream.ts', import.meta.url),
  zlib: new URL('../guest/lib/lazy/zlib.ts', import.meta.url),
  events: 'events',
  'generic-pool': 'generic-pool',
  // English only: the other languages would take megabytes of every isolate.
  faker: '@faker-js/faker/locale/en.js',
  '@faker-js/faker': '@faker-js/faker/locale/en.js',
};

const noTimers = fileURLToPath(new URL('../guest/lib/lazy/no-timers.ts', import.meta.url));
const eventEmitter = fileURLToPath(new URL('../guest/lib/lazy/event-emitter.ts', import.meta.url));

/** Returns a module's code as an expression that evaluates to its factory. Bundled once for all isolates that share these ops. */
export function createModuleOps(): SyncOps {
  const bundles = new Map<LazyModule, string>();
  return {
    module: ([given]) => {
      const name = textArgument(given, 'the name of the module', 100);
      if (!isLazyModule(name)) throw new Error(`expected one of the modules ${lazyModules.join(', ')}`);
      const known = bundles.get(name) ?? bundle(sources[name]);
      bundles.set(name, known);
      return known;
    },
  };
}

function bundle(source: URL | string): string {
  const entry =
    source instanceof URL
      ? `export { create } from ${JSON.stringify(fileURLToPath(source))}`
      : `import made from ${JSON.stringify(source)}; export const create = () => made`;
  const built = buildSync({
    stdin: { contents: entry, resolveDir: fileURLToPath(new URL('.', import.meta.url)), loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'made',
    platform: 'neutral',
    mainFields: ['main'],
    target: 'es2024',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    inject: [noTimers],
    alias: { events: eventEmitter },
    logLevel: 'silent',
  });
  const code = built.outputFiles[0]?.text;
  if (code === undefined) throw new Error('expected a bundle');
  return `(()=>{${code};return made.create})()`;
}
