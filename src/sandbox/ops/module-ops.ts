import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { lazyModules } from '../guest/lib/lazy-modules.ts';
import { textArgument } from './arguments.ts';
import type { SyncOps } from './ops.ts';

const folder = fileURLToPath(new URL('../guest/lib/lazy/', import.meta.url));
/** By file. The same for every isolate of the process. */
const bundles = new Map<string, string>();

/** Code of a module as an expression: the function that makes it. */
export const moduleOps: SyncOps = {
  module: ([given]) => {
    const name = textArgument(given, 'the name of the module', 100);
    const file = Object.hasOwn(lazyModules, name) ? lazyModules[name] : undefined;
    if (file === undefined) throw new Error(`expected one of the modules ${Object.keys(lazyModules).join(', ')}`);
    const known = bundles.get(file);
    if (known !== undefined) return known;
    const made = bundle(`${folder}${file}.ts`);
    bundles.set(file, made);
    return made;
  },
};

function bundle(path: string): string {
  const built = buildSync({
    stdin: { contents: `export { create } from ${JSON.stringify(path)}`, resolveDir: folder, loader: 'ts' },
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'made',
    platform: 'neutral',
    mainFields: ['main'],
    target: 'esnext',
    minifySyntax: true,
    minifyWhitespace: true,
    inject: [`${folder}no-timers.ts`],
    alias: { events: `${folder}event-emitter.ts` },
    logLevel: 'silent',
  });
  const code = built.outputFiles[0]?.text;
  if (code === undefined) throw new Error(`expected a bundle of ${path}`);
  return `(()=>{${code};return made.create})()`;
}
