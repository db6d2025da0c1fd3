import { buildSync } from 'esbuild';
import { fileURLToPath } from 'node:url';

const entry = fileURLToPath(new URL('../guest/main.ts', import.meta.url));

/** The guest as one script, whose value is its `start`. Takes some tens of milliseconds. */
export function bundleGuest(): string {
  const { outputFiles } = buildSync({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'guest',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    target: 'es2024',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'silent',
  });
  const text = outputFiles[0]?.text ?? '';
  return `(()=>{${text}\nreturn guest.start;})()`;
}
