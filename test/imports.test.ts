import { describe, expect, it } from 'vitest';
import { allFiles, isMember, parseFiles, read, type Import, type SourceFile } from './source-tree.ts';

function words(text: TemplateStringsArray): string[] {
  return text.join('').split(/\s+/);
}

/**
 * The rooms of src and whom each imports: a room is a folder, or a folder or file in it that has a row of its own. Read downwards, the
 * table goes from the ground floor to the roof; a room knows only rooms above its row, so there is no circle. The table is
 * exact: an arrow that nobody uses is removed.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  base: [],
  config: words`base`,
  telemetry: [],
  kafka: [],
  live: words`base contract`,
  metadata: words`contract base telemetry`,
  eventlog: words`base kafka`,
  eventstore: words`base telemetry`,
  outbound: words`base`,
  batch: words`contract base eventlog`,
  http: words`contract base config telemetry metadata eventlog eventstore`,
  capture: words`contract base config telemetry eventlog batch http`,
  notices: words`contract base telemetry metadata outbound`,
  imports: words`contract base outbound`,
  plugins: words`contract base telemetry outbound batch imports`,
  sandbox: words`base telemetry metadata outbound plugins`,
  'plugins/services': words`base telemetry metadata outbound batch plugins sandbox`,
  'plugins/configs': words`contract base metadata plugins`,
  'plugins/packages': words`contract base metadata outbound plugins sandbox plugins/configs`,
  'plugins/transformations': words`base plugins`,
  'imports/formats': words`contract base`,
  'imports/choosing': words`contract base batch imports plugins/transformations imports/formats`,
  'imports/records': words`base imports`,
  'imports/s3': [],
  'imports/sources': words`base kafka outbound imports plugins imports/records imports/s3`,
  'imports/staging': words`imports imports/s3`,
  'imports/targets': words`contract base metadata eventstore outbound batch capture imports`,
  'imports/uploads': words`base metadata imports`,
  'imports/run': words`contract base telemetry metadata eventstore notices imports plugins plugins/configs imports/formats imports/choosing imports/uploads`,
  'imports/schedules': words`contract base telemetry metadata plugins plugins/configs imports/run`,
  'imports/stages': words`contract base metadata eventstore batch imports imports/formats imports/choosing imports/records imports/targets imports/run`,
  'imports/preflight': words`base contract imports plugins imports/formats imports/choosing imports/run imports/stages`,
  'imports/assemble.ts': words`contract base metadata eventstore imports imports/run imports/stages imports/preflight`,
  'plugins/built-in': words`contract base metadata plugins plugins/transformations imports/sources imports/run`,
  transform: words`contract base live telemetry metadata outbound plugins sandbox plugins/services plugins/configs`,
  'imports/transforming': words`base outbound imports plugins sandbox plugins/services transform`,
  jobs: words`contract base telemetry metadata batch plugins sandbox plugins/services plugins/configs`,
  persons: words`contract base metadata`,
  pipeline: words`contract base config live telemetry metadata eventlog eventstore batch plugins/services transform jobs persons`,
  api: words`contract base live metadata eventstore batch http notices imports plugins plugins/services plugins/configs plugins/packages imports/formats imports/run imports/schedules imports/uploads imports/stages imports/preflight transform jobs persons pipeline`,
  move: words`base metadata eventstore`,
  backup: words`base imports`,
  service: words`contract base config kafka live telemetry metadata eventlog eventstore move backup outbound batch http capture notices imports plugins sandbox plugins/services plugins/configs plugins/packages imports/staging imports/targets imports/run imports/schedules imports/uploads imports/stages imports/preflight imports/assemble.ts plugins/built-in transform jobs pipeline api imports/transforming`,
  cli: words`contract base config telemetry metadata eventstore outbound imports plugins sandbox plugins/packages imports/formats imports/choosing imports/records imports/sources imports/targets imports/run imports/stages imports/assemble.ts plugins/built-in transform imports/transforming service move backup`,
};
const rooms = Object.keys(mayImport);

/** Adapters of the ports: beside their own folder only this file knows them, and tests. */
const adapters =
  /^src\/(eventlog\/(sqlite|kafka)|eventstore\/(chdb|clickhouse)|metadata\/(sqlite|postgres)|imports\/staging\/)/;
const stores = 'src/service/stores.ts';
/** The composition root, and the files outside of it that know one of its files. */
const isRoot = (path: string): boolean => path.startsWith('src/service/') || path === 'src/main.ts';
const rootKnownTo: Readonly<Record<string, readonly string[]>> = {
  'src/main.ts': ['src/cli/commands/serve.ts'],
  'src/service/move.ts': ['src/cli/commands/move.ts'],
  'src/service/backup.ts': ['src/cli/backup-options.ts', 'src/cli/commands/backup.ts'],
  'src/service/restore.ts': ['src/cli/commands/restore.ts'],
  [stores]: ['src/cli/with-metadata.ts', 'src/cli/import/local-store.ts', 'src/cli/import/local-tables.ts'],
  'src/service/plugin-environment.ts': ['src/cli/transformation/trial-host.ts'],
};

/** Vendor clients and the only places that may name them. */
const vendors: readonly (readonly [name: RegExp, places: RegExp])[] = [
  [/^chdb$/, /^src\/eventstore\/chdb\//],
  [/^@clickhouse\/client$/, /^src\/eventstore\/clickhouse\/server\.ts$/],
  [/^pg$/, /^src\/(metadata\/postgres|sandbox\/ops\/postgres-connection|imports\/sources\/postgres[^/]*)\.ts$/],
  [
    /^node:sqlite$/,
    /^src\/(base\/sqlite-snapshot\.ts$|metadata\/sqlite|eventlog\/sqlite\/|imports\/sources\/sqlite-process\.ts$)/,
  ],
  [/^@platformatic\/kafka$/, /^src\/(kafka|eventlog\/kafka)\/|^src\/imports\/sources\/kafka-[^/]+\.ts$/],
  [/^@duckdb\/node-api$/, /^src\/imports\/sources\/duckdb-(process|rows)\.ts$/],
  [/^(fastify|@fastify\/.*|@scalar\/.*)$/, /^src\/(http\/|api\/|capture\/routes[^/]*\.ts$)/],
  [/^commander$/, /^src\/cli\//],
  [/^yaml$/, /^src\/cli\/(files\/|write-yaml)/],
  [/^pino$/, /^src\/telemetry\/log\.ts$/],
  [/^prom-client$/, /^src\/telemetry\/metrics\.ts$/],
  [/^ajv/, /^src\/(http|plugins)\//],
  [/^isolated-vm$/, /^src\/sandbox\//],
  [/^esbuild$/, /^src\/(sandbox|plugins\/packages)\//],
  [/^undici$/, /^src\/outbound\//],
  [/^nodemailer$/, /^src\/notices\/send\/email\.ts$/],
  [/^maxmind$/, /^src\/plugins\/geoip\.ts$/],
  [/^tar$/, /^src\/(plugins\/packages|imports\/records)\//],
  [/^xz-decompress$/, /^src\/imports\/records\//],
  [/^yauzl$/, /^src\/(plugins\/packages|imports\/records)\//],
  [/^hyparquet.*$/, /^src\/imports\/records\//],
  [/^avsc$/, /^src\/imports\/records\//],
  [/^@google-cloud\/storage$/, /^src\/imports\/sources\/gcs-token\.ts$/],
  [/^@aws-sdk\/.*$/, /^src\/imports\/s3\//],
];

/** Entries of processes of their own, which end themselves. */
const processEntries = new Set(['src/eventstore/chdb/process.ts', 'src/imports/sources/duckdb-process.ts']);

const sources = parseFiles(
  allFiles().filter((path) => path.startsWith('src/') && path.endsWith('.ts') && !isTestSide(path)),
);

/** The console's own sources: another program, which runs in a browser. */
const consoleSources = parseFiles(
  allFiles().filter((path) => /^console\/src\/.*\.tsx?$/.test(path) && !isTestSide(path)),
);
/** Plain tables and rules of the contract that a browser may load; of the others it takes the types alone. */
const tablesForBrowsers =
  /^src\/contract\/(errors|warnings|scopes|roles|odd-values|import-schedule-limits|skipped-reasons)\.ts$/;

function isTestSide(path: string): boolean {
  return /(\.(test|fixture)|[/-]conformance)\.ts$/.test(path) || /(^|\/)test[-.]/.test(path);
}

/** The room of a file: the longest row of the table that its path begins with; undefined: straight in src. */
function roomOf(path: string): string | undefined {
  const inSrc = path.slice('src/'.length);
  const own = rooms.filter((room) => `${inSrc}/`.startsWith(`${room}/`)).sort((a, b) => b.length - a.length)[0];
  return own ?? /^([^/]+)\//.exec(inSrc)?.[1];
}

function refused(judge: (file: SourceFile, each: Import) => string | undefined): string[] {
  return sources.flatMap((file) =>
    file.imports.flatMap((each) => {
      const reason = judge(file, each);
      return reason === undefined ? [] : [`${file.path}:${each.line} imports ${each.specifier}: ${reason}`];
    }),
  );
}

/** The arrow that an import is, from room to room; undefined: it stays in its room or leaves src. */
function arrowOf(file: SourceFile, { target }: Import): readonly [from: string, to: string] | undefined {
  const from = roomOf(file.path);
  const to = target?.startsWith('src/') === true ? roomOf(target) : undefined;
  return from === undefined || to === undefined || from === to ? undefined : [from, to];
}

describe('who may import whom', () => {
  it('every folder of src has a row in the table', () => {
    const seen = new Set(sources.map((file) => roomOf(file.path)).filter((room) => room !== undefined));
    expect([...seen].filter((room) => !rooms.includes(room))).toEqual([]);
  });

  it('a room knows only rooms above its row', () => {
    const upwards = rooms.flatMap((room, row) =>
      (mayImport[room] ?? []).filter((to) => rooms.indexOf(to) >= row || !rooms.includes(to)).map((to) => [room, to]),
    );
    expect(upwards).toEqual([]);
  });

  it('a room imports only what the table allows', () => {
    expect(
      refused((file, each) => {
        const [from, to] = arrowOf(file, each) ?? [];
        if (from === undefined || to === undefined || mayImport[from]?.includes(to) === true) return undefined;
        return `${from} may import ${mayImport[from]?.join(', ') ?? 'nothing'}`;
      }),
    ).toEqual([]);
  });

  it('the table allows nothing that nobody needs', () => {
    const used = new Set(sources.flatMap((file) => file.imports.map((each) => arrowOf(file, each)?.join(' → '))));
    const unused = rooms.flatMap((room) => (mayImport[room] ?? []).map((to) => `${room} → ${to}`));
    expect(unused.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  it('no file reaches itself, except through types within one folder', () => {
    expect(circles()).toEqual([]);
  });

  it('the composition root is known to the commands that start the program, or work on its stores, only', () => {
    expect(
      refused((file, { target }) =>
        target !== undefined &&
        isRoot(target) &&
        !isRoot(file.path) &&
        rootKnownTo[target]?.includes(file.path) !== true
          ? 'parts do not know the whole'
          : undefined,
      ),
    ).toEqual([]);
    const known = new Set(sources.flatMap((file) => file.imports.map(({ target }) => `${file.path} → ${target}`)));
    const allowed = Object.entries(rootKnownTo).flatMap(([root, files]) => files.map((file) => `${file} → ${root}`));
    expect(allowed.filter((arrow) => !known.has(arrow))).toEqual([]);
  });

  it('nothing lies loose in src beside main.ts', () => {
    expect(
      sources.map(({ path }) => path).filter((path) => /^src\/[^/]+$/.test(path) && path !== 'src/main.ts'),
    ).toEqual([]);
  });

  it('ports, never adapters', () => {
    expect(
      refused((file, { target }) => {
        if (target === undefined || !adapters.test(target) || file.path === stores) return undefined;
        return roomOf(file.path) === roomOf(target) ? undefined : 'import the port and take the adapter as a parameter';
      }),
    ).toEqual([]);
  });

  it('a vendor client appears in its adapter only', () => {
    expect(
      refused((file, { specifier, target, typeOnly }) => {
        // Types may be named where the parts are put together.
        if (target !== undefined || (typeOnly && isRoot(file.path))) return undefined;
        const rule = vendors.find(([name]) => name.test(specifier));
        return rule === undefined || rule[1].test(file.path) ? undefined : `belongs to ${rule[1].source}`;
      }),
    ).toEqual([]);
  });

  it('production code imports no test code and no development package', () => {
    const development = /^(vitest|fast-check|@electric-sql\/pglite|playwright-core|posthog-node)(\/|$)/;
    expect(
      refused((_file, { specifier, target }) =>
        development.test(specifier) || (target?.endsWith('.ts') && (!target.startsWith('src/') || isTestSide(target)))
          ? 'only tests may'
          : undefined,
      ),
    ).toEqual([]);
  });

  it('e2e tests run the built program: none runs a command of the sources in its own process', () => {
    const inProcess = /\brunCommand\b|openCommandShell\((?!.*run: spawnCommand)|\.\.\/support\/command-store/;
    const found = allFiles().filter((path) => path.startsWith('test/e2e/') && inProcess.test(read(path)));
    expect(found).toEqual([]);
  });

  it('the console knows the types of the contract and its plain tables, and nothing else of src; src knows nothing of it', () => {
    const abroad = consoleSources.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target !== undefined && !target.startsWith('console/src/'))
        .filter(({ target = '', typeOnly }) => !(typeOnly ? /^src\/contract\// : tablesForBrowsers).test(target))
        .map(({ line, specifier }) => `${path}:${line} imports ${specifier}`),
    );
    expect(abroad).toEqual([]);
    expect(
      refused((_file, { target }) => (target?.startsWith('console/src/') ? 'it is another program' : undefined)),
    ).toEqual([]);
  });

  it('a component knows no page, and a page no other', () => {
    const pageOf = (path = ''): string | undefined => /^console\/src\/pages\/([^/]+)\//.exec(path)?.[1];
    const found = consoleSources
      .filter(({ path }) => path !== 'console/src/router.tsx')
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => pageOf(target) !== undefined && pageOf(target) !== pageOf(path))
          .map(({ line, specifier }) => `${path}:${line} imports ${specifier}`),
      );
    expect(found).toEqual([]);
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

/** Files that reach themselves through imports; through types alone they may, as long as all of them lie in one folder. */
function circles(): string[] {
  const all = new Map(sources.map(({ path, imports }) => [path, imports]));
  const targetsOf = (path: string, withTypes: boolean): string[] =>
    (all.get(path) ?? []).flatMap(({ target, typeOnly }) =>
      target !== undefined && (withTypes || !typeOnly) ? [target] : [],
    );
  const reachable = (start: string, withTypes: boolean): Set<string> => {
    const seen = new Set<string>();
    const queue = targetsOf(start, withTypes);
    for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
      if (seen.has(path)) continue;
      seen.add(path);
      queue.push(...targetsOf(path, withTypes));
    }
    return seen;
  };
  const folder = (path: string): string => path.slice(0, path.lastIndexOf('/'));
  return [...all.keys()].flatMap((path) => {
    if (reachable(path, false).has(path)) return [`${path} reaches itself`];
    const others = [...reachable(path, true)].filter((other) => reachable(other, true).has(path));
    return others.every((other) => folder(other) === folder(path)) ? [] : [`${path} and ${others.join(', ')}`];
  });
}
