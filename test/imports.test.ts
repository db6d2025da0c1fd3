import { describe, expect, it } from 'vitest';
import { allFiles, isMember, parseFiles, type Import, type SourceFile } from './source-tree.ts';

function words(text: TemplateStringsArray): string[] {
  return text.join('').split(/\s+/);
}

/**
 * Who may import whom, by folder of src. Read downwards, the table follows the flow of an event; a folder imports only
 * what it lists (and itself). Files straight in src (main.ts and the entries of processes and threads) put the parts
 * together and may import everything.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: ['base'],
  base: ['contract'],
  config: ['contract', 'base'],
  telemetry: ['contract', 'base', 'config'],
  metadata: ['contract', 'base', 'config', 'telemetry'],
  eventlog: ['contract', 'base', 'config', 'telemetry'],
  eventstore: ['contract', 'base', 'config', 'telemetry'],
  formats: ['contract', 'base'],
  records: ['contract', 'base'],
  s3: ['contract', 'base'],
  http: ['contract', 'base', 'config', 'telemetry', 'metadata'],
  capture: ['contract', 'base', 'config', 'telemetry', 'metadata', 'eventlog', 'http'],
  plugins: ['contract', 'base', 'config', 'telemetry', 'formats', 'records', 's3'],
  outbound: ['contract', 'base', 'config', 'telemetry', 'plugins'],
  sandbox: ['contract', 'base', 'config', 'telemetry', 'plugins', 'outbound'],
  'plugin-services': words`contract base config telemetry metadata plugins outbound`,
  'plugin-packages': words`contract base config telemetry metadata plugins plugin-configs outbound`,
  'plugin-configs': ['contract', 'base', 'config', 'telemetry', 'metadata', 'plugins'],
  jobs: words`contract base config telemetry metadata plugins plugin-configs plugin-services`,
  transform: words`contract base config telemetry metadata plugins plugin-configs plugin-services`,
  persons: ['contract', 'base', 'config', 'telemetry', 'metadata'],
  pipeline: words`contract base config telemetry metadata eventlog eventstore capture plugins plugin-configs
    plugin-services jobs transform persons`,
  imports: words`contract base config telemetry metadata eventlog eventstore formats capture plugins plugin-configs
    outbound records s3 persons`,
  api: words`contract base config telemetry metadata eventstore http capture plugins plugin-configs
    plugin-services plugin-packages jobs transform persons pipeline imports`,
  cli: words`contract base config telemetry metadata formats imports records plugins plugin-services plugin-packages outbound sandbox
    transform`,
};

/** Types that hold folders together; anybody but contract and base may import them. */
const treaties = new Set([
  'src/pipeline/outcome.ts',
  'src/capture/accept.ts',
  'src/capture/scanned-batch.ts',
  'src/http/api-route.ts',
  'src/plugins/plugin.ts',
  'src/plugins/fields.ts',
  'src/plugins/host.ts',
  'src/sandbox/sandbox.ts',
  'src/outbound/outbound.ts',
  'src/eventlog/eventlog.ts',
  'src/eventstore/eventstore.ts',
  'src/metadata/database.ts',
  'src/imports/run.ts',
  'src/imports/source.ts',
]);

/** Adapters of the ports: only their own folder and the place that puts the program together know them. */
const adapters = /^src\/(eventlog\/(sqlite|memory|kafka)|eventstore\/(chdb|clickhouse)|metadata\/(sqlite|postgres))/;
/** The commands that start or describe the whole program. */
const alsoImportsMain = new Set([
  'src/cli/commands/serve.ts',
  'src/cli/commands/openapi.ts',
  // Names the entry of the process that it starts.
  'src/sandbox/host/plugin-process.ts',
]);

/** Vendor clients and the only places that may name them. */
const vendors: readonly (readonly [name: RegExp, places: RegExp])[] = [
  [/^chdb$/, /^src\/eventstore\/chdb/],
  [/^@clickhouse\/client$/, /^src\/eventstore\/clickhouse\.ts$/],
  [/^pg$/, /^src\/(metadata\/postgres|sandbox\/ops\/postgres-connection|plugins\/import-apps\/postgres[^/]*)\.ts$/],
  [/^node:sqlite$/, /^src\/(metadata|eventlog)\/sqlite/],
  [/^@platformatic\/kafka$/, /^src\/eventlog\/kafka\.ts$/],
  [/^(fastify|@fastify\/.*|@scalar\/.*)$/, /^src\/(http\/|api\/|capture\/routes[^/]*\.ts$)/],
  [/^commander$/, /^src\/cli\//],
  [/^pino$/, /^src\/telemetry\/log\.ts$/],
  [/^prom-client$/, /^src\/telemetry\/metrics\.ts$/],
  [/^ajv/, /^src\/(http|plugins|plugin-configs)\//],
  [/^isolated-vm$/, /^src\/sandbox\//],
  [/^esbuild$/, /^src\/(sandbox|plugin-packages)\//],
  [/^undici$/, /^src\/outbound\//],
  [/^maxmind$/, /^src\/plugin-services\//],
  [/^tar$/, /^src\/plugin-packages\//],
  [/^yauzl$/, /^src\/(plugin-packages|records)\//],
  [/^hyparquet.*$/, /^src\/records\//],
  [/^@aws-sdk\/.*$/, /^src\/s3\//],
];

/** Entries of processes of their own, which end themselves. */
const processEntries = new Set(['src/eventstore/chdb-process.ts']);

const sources = parseFiles(
  allFiles().filter((path) => path.startsWith('src/') && path.endsWith('.ts') && !isTestSide(path)),
);

function isTestSide(path: string): boolean {
  return /(\.(test|fixture)|[/-]conformance)\.ts$/.test(path) || /(^|\/)test[-.]/.test(path);
}

function folderOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

function refused(judge: (file: SourceFile, each: Import) => string | undefined): string[] {
  return sources.flatMap((file) =>
    file.imports.flatMap((each) => {
      const reason = judge(file, each);
      return reason === undefined ? [] : [`${file.path}:${each.line} imports ${each.specifier}: ${reason}`];
    }),
  );
}

describe('who may import whom', () => {
  it('every folder of src has a row in the table', () => {
    const folders = new Set(sources.map((file) => folderOf(file.path)).filter((folder) => folder !== undefined));
    expect([...folders].filter((folder) => !(folder in mayImport))).toEqual([]);
  });

  it('the table itself has no circle besides contract and base', () => {
    expect(circles()).toEqual([]);
  });

  it('a folder imports only what the table allows', () => {
    expect(
      refused((file, { target }) => {
        const from = folderOf(file.path);
        const to = target === undefined ? undefined : folderOf(target);
        if (from === undefined || to === undefined || from === to) return undefined;
        const allowed = mayImport[from] ?? [];
        if (allowed.includes(to)) return undefined;
        if (treaties.has(target ?? '') && !['contract', 'base'].includes(from)) return undefined;
        return `${from} may import ${allowed.join(', ')}`;
      }),
    ).toEqual([]);
  });

  it('main.ts is known to the commands that start or describe the program only', () => {
    expect(
      refused((file, { target }) =>
        target?.startsWith('src/') === true &&
        folderOf(target) === undefined &&
        folderOf(file.path) !== undefined &&
        !alsoImportsMain.has(file.path)
          ? 'parts do not know the whole'
          : undefined,
      ),
    ).toEqual([]);
  });

  it('ports, never adapters', () => {
    expect(
      refused((file, { target }) => {
        if (target === undefined || !adapters.test(target)) return undefined;
        const from = folderOf(file.path);
        if (from === undefined || from === folderOf(target)) return undefined;
        return 'import the port instead and take the adapter as a parameter';
      }),
    ).toEqual([]);
  });

  it('a vendor client appears in its adapter only', () => {
    expect(
      refused((file, { specifier, target, typeOnly }) => {
        // Types may be named where the parts are put together.
        if (target !== undefined || (typeOnly && folderOf(file.path) === undefined)) return undefined;
        const rule = vendors.find(([name]) => name.test(specifier));
        return rule === undefined || rule[1].test(file.path) ? undefined : `belongs to ${rule[1].source}`;
      }),
    ).toEqual([]);
  });

  it('production code imports no test code and no development package', () => {
    const development = /^(vitest|fast-check|@electric-sql\/pglite|playwright-core|posthog-node|posthog-js)(\/|$)/;
    expect(
      refused((_file, { specifier, target }) =>
        development.test(specifier) || (target?.endsWith('.ts') && (!target.startsWith('src/') || isTestSide(target)))
          ? 'only tests may'
          : undefined,
      ),
    ).toEqual([]);
  });

  it('the environment is read in src/config only', () => {
    expect(uses('process', 'env', /^src\/config\//)).toEqual([]);
  });

  it('only the command line ends the process', () => {
    expect(
      uses('process', 'exit', /^src\/cli\//).filter((use) => !processEntries.has(use.split(':')[0] ?? '')),
    ).toEqual([]);
  });
});

function uses(object: string, property: string, allowed: RegExp): string[] {
  return sources
    .filter((file) => !allowed.test(file.path))
    .flatMap((file) =>
      file.nodes
        .filter((node) => isMember(node, object, property))
        .map((node) => `${file.path}:${file.lineOf(node.start)}`),
    );
}

/** Folders that reach themselves through the table. */
function circles(): string[] {
  const reaches = (from: string, goal: string, seen: Set<string>): boolean =>
    (mayImport[from] ?? []).some((to) => {
      if (to === goal) return true;
      if (seen.has(to)) return false;
      seen.add(to);
      return reaches(to, goal, seen);
    });
  return Object.keys(mayImport).filter(
    (folder) => !['contract', 'base'].includes(folder) && reaches(folder, folder, new Set()),
  );
}
