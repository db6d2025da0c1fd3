// Builds the service and the command into dist/, a handful of files instead of about a thousand modules: a start takes half of the
// processor time. npm runs it after `npm ci`. Plain JavaScript: the Node that installs may be too old to read TypeScript.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildAssembly } from './build-assembly.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'src');

/** Separate entries: the command, and each thread and process that the service starts. */
const entries = {
  millrace: 'cli/main.ts',
  'pipeline-thread': 'server/service/pipeline-thread.ts',
  'import-process': 'server/service/import-process.ts',
  'import-preview-process': 'server/service/import-preview-process.ts',
  'parent-thread': 'base/parent-thread.ts',
  'check-thread': 'imports/stages/check/threads/check-thread.ts',
  'log-writer-thread': 'log/sqlite/writer-thread.ts',
  'store-process': 'stores/events/chdb/process.ts',
  'plugin-process': 'plugins/sandbox/child/main.ts',
  'duckdb-process': 'imports/sources/duckdb-process.ts',
  'sqlite-process': 'imports/sources/sqlite-process.ts',
};

/** These stay in node_modules: native code, programs, and large rarely loaded packages. */
const notBundled = [
  'chdb',
  'isolated-vm',
  'esbuild',
  'avsc',
  'jsonwebtoken',
  'pg-native',
  '@duckdb/*',
  '@platformatic/kafka',
  '@aws-sdk/*',
  '@scalar/*',
  'mysql2',
  'google-auth-library',
  'nodemailer',
  '@opentelemetry/*',
];

if (!existsSync(sources)) {
  console.log('The service is not built: its sources are not here.');
  process.exit();
}

const nameOf = new Map(Object.entries(entries).map(([name, path]) => [join(sources, path), name]));
/** Written for the sandbox, which bundles it separately. */
const forGuests = join(sources, 'plugins/sandbox/guest');

/** With a file that it names, if any. */
const ownPlace = /new URL\('(\.[^']*\.ts)', import\.meta\.url\)|import\.meta\.url/g;

/** A built file is in another place than its sources: files that they name by relative paths are resolved from dist/. */
const places = {
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      if (!path.startsWith(sources) || !text.includes('import.meta.url')) return { contents: text, loader: 'ts' };
      const itself = `new URL('../${relative(root, path)}', import.meta.url).href`;
      const contents = text.replaceAll(ownPlace, (all, name) => {
        const file = name === undefined ? path : resolve(dirname(path), name);
        if (file === path || file.startsWith(forGuests)) return all.replace('import.meta.url', itself);
        const entry = nameOf.get(file);
        if (entry === undefined)
          throw new Error(`expected an entry for ${file}, which ${path} starts: add it to this script`);
        return `new URL('./${entry}.js', import.meta.url)`;
      });
      return { contents, loader: 'ts' };
    });
  },
};

/**
 * An import of `node:http` reads all that the module exports, and with it loads `fetch` and WebSocket, in every process and thread: 40 ms of
 * processor time. Asking for the module does not.
 */
const httpAlone = {
  name: 'http alone',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:http$/ }, ({ kind, path }) =>
      kind === 'import-statement' ? { path, namespace: 'asked for' } : null,
    );
    onLoad({ filter: /./, namespace: 'asked for' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}');`,
    }));
  },
};

/**
 * Of a CommonJS package that is imported lazily, esbuild exports nothing but `default`; Node exports its names as well. The built program
 * exports what Node does, so that `const { name } = await import('package')` is the same in both.
 */
const namesOfNode = {
  name: 'names of Node',
  setup({ onResolve, onLoad }) {
    const isBundled = (path) =>
      !notBundled.some((name) => path === name || path.startsWith(name.replace(/\*?$/, name.endsWith('*') ? '' : '/')));
    onResolve({ filter: /^@?[a-z]/ }, ({ kind, path, importer }) =>
      kind === 'dynamic-import' && importer.startsWith(sources) && !path.startsWith('node:') && isBundled(path)
        ? { path, namespace: 'names of Node' }
        : null,
    );
    onLoad({ filter: /./, namespace: 'names of Node' }, async ({ path }) => {
      const names = Object.keys(await import(path)).filter((name) => /^[$\w]+$/.test(name));
      return { contents: `export { ${names.join(', ')} } from '${path}';`, resolveDir: root };
    });
  },
};

const target = join(root, 'dist');
// A start in the meantime finds either the old or the new build, never half of it.
const made = `${target}-${process.pid}`;

await build({
  absWorkingDir: root,
  entryPoints: Object.fromEntries(Object.entries(entries).map(([name, path]) => [name, join('src', path)])),
  outdir: made,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  external: notBundled,
  // All are in one folder. Packages written for `require` use it for modules of Node.
  banner: {
    js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
  },
  // Read by Node only with --enable-source-maps; otherwise each start would pay for them.
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  logLevel: 'warning',
  plugins: [places, httpAlone, namesOfNode],
});
try {
  await buildAssembly(relative(root, made));
} catch (error) {
  rmSync(made, { recursive: true });
  throw error;
}
rmSync(target, { recursive: true, force: true });
renameSync(made, target);
