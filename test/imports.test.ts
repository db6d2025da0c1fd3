import { describe, expect, it } from 'vitest';
import { allFiles, isMember, parseFiles, read, type Import, type SourceFile } from './source-tree.ts';

function words(text: TemplateStringsArray): string[] {
  return text.join('').split(/\s+/);
}

/**
 * The rooms of src and their imports: a room is a folder, or a folder or file in it with a separate row. A room imports only rooms
 * above its row, so there is no cycle. The table is exact: an unused entry is removed.
 */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  'wire/contract': [],
  base: [],
  'server/config': words`base`,
  'server/telemetry': [],
  'log/kafka-connection': [],
  'pipeline/live': words`base wire/contract`,
  'stores/metadata': words`wire/contract base server/telemetry`,
  log: words`base log/kafka-connection`,
  'stores/events': words`wire/contract base server/telemetry`,
  'plugins/outbound': words`base`,
  'wire/batch': words`wire/contract base log`,
  'wire/tracking-plan': words`wire/contract base wire/batch`,
  'server/sign-in': words`wire/contract base server/config stores/metadata plugins/outbound`,
  'server/http': words`wire/contract base server/config server/telemetry stores/metadata log stores/events server/sign-in`,
  'wire/capture': words`wire/contract base server/config server/telemetry log wire/batch server/http`,
  'queue/notices': words`wire/contract base server/telemetry stores/metadata plugins/outbound`,
  'queue/tasks': words`base server/telemetry stores/metadata`,
  imports: words`wire/contract base plugins/outbound`,
  plugins: words`wire/contract base server/telemetry plugins/outbound wire/batch imports`,
  'plugins/sandbox': words`base server/telemetry stores/metadata plugins/outbound plugins`,
  'log/kafka-login': words`log/kafka-connection plugins/outbound plugins/sandbox`,
  'plugins/services': words`base server/telemetry stores/metadata plugins/outbound wire/batch plugins plugins/sandbox`,
  'plugins/configs': words`wire/contract base stores/metadata plugins`,
  'plugins/packages': words`wire/contract base stores/metadata plugins/outbound plugins plugins/sandbox plugins/configs`,
  'plugins/transformations': words`base plugins`,
  'imports/formats': words`wire/contract base`,
  'imports/choosing': words`wire/contract base wire/batch imports plugins/transformations imports/formats`,
  'imports/records': words`base imports`,
  'imports/s3': [],
  'imports/sources': words`base log/kafka-connection plugins/outbound imports plugins imports/records imports/s3`,
  'imports/staging': words`imports imports/s3`,
  'imports/targets': words`wire/contract base stores/metadata stores/events plugins/outbound wire/batch wire/capture imports`,
  'imports/uploads': words`base stores/metadata imports`,
  'imports/run': words`wire/contract base server/telemetry stores/metadata stores/events queue/notices imports plugins plugins/configs imports/formats imports/choosing imports/records imports/uploads`,
  'imports/schedules': words`wire/contract base server/telemetry stores/metadata plugins plugins/configs imports/run`,
  'imports/stages': words`wire/contract base stores/metadata stores/events wire/batch wire/tracking-plan imports imports/formats imports/choosing imports/records imports/targets imports/run`,
  'imports/preflight': words`base wire/contract wire/tracking-plan imports plugins imports/formats imports/choosing imports/run imports/stages`,
  'imports/assemble.ts': words`wire/contract base stores/metadata stores/events imports imports/run imports/stages imports/preflight`,
  'plugins/built-in': words`wire/contract base stores/metadata plugins plugins/transformations imports/sources imports/run`,
  'pipeline/transform': words`wire/contract base pipeline/live server/telemetry stores/metadata plugins/outbound plugins plugins/sandbox plugins/services plugins/configs`,
  'imports/transforming': words`base plugins/outbound imports plugins plugins/sandbox plugins/services pipeline/transform`,
  'queue/jobs': words`wire/contract base server/telemetry stores/metadata wire/batch plugins plugins/sandbox plugins/services plugins/configs`,
  'queue/replays': words`wire/contract base stores/metadata stores/events queue/tasks queue/jobs`,
  'pipeline/persons': words`wire/contract base stores/metadata`,
  'queue/erasures': words`wire/contract base stores/metadata stores/events queue/tasks pipeline/persons`,
  pipeline: words`wire/contract base server/config pipeline/live server/telemetry stores/metadata log stores/events wire/batch wire/tracking-plan plugins/services pipeline/transform queue/jobs pipeline/persons`,
  'stores/export': words`wire/contract base stores/metadata stores/events plugins plugins/outbound queue/tasks imports imports/sources imports/s3 pipeline/persons`,
  'server/api': words`wire/contract base pipeline/live stores/metadata stores/events stores/export wire/batch wire/tracking-plan server/http queue/notices queue/tasks imports plugins plugins/services plugins/configs plugins/packages imports/formats imports/run imports/schedules imports/uploads imports/stages imports/preflight pipeline/transform queue/jobs queue/replays pipeline/persons pipeline queue/erasures`,
  'stores/move': words`base stores/metadata stores/events`,
  'stores/backup': words`base imports`,
  'server/service': words`wire/contract base server/config log/kafka-connection log/kafka-login pipeline/live server/telemetry stores/metadata log stores/events stores/export stores/move stores/backup plugins/outbound wire/batch server/sign-in server/http wire/capture queue/notices queue/tasks imports plugins plugins/sandbox plugins/services plugins/configs plugins/packages imports/formats imports/staging imports/targets imports/run imports/schedules imports/uploads imports/stages imports/preflight imports/assemble.ts plugins/built-in pipeline/transform queue/jobs queue/replays pipeline/persons pipeline server/api imports/transforming queue/erasures`,
  demo: words`wire/contract base`,
  cli: words`demo wire/contract wire/tracking-plan base server/config server/telemetry stores/metadata stores/events plugins/outbound imports plugins plugins/sandbox plugins/packages imports/formats imports/choosing imports/records imports/sources imports/targets imports/run imports/stages imports/assemble.ts plugins/built-in pipeline/transform imports/transforming server/service stores/move stores/backup`,
};
const rooms = Object.keys(mayImport);

/** Adapters of the ports: beside their own folder only this file knows them, and tests. */
const adapters =
  /^src\/(log\/(sqlite|kafka)\/|stores\/(events\/(chdb|clickhouse)|metadata\/(sqlite|postgres))|imports\/staging\/)/;
const stores = 'src/server/service/stores.ts';
/** The composition root, and the files outside of it that know one of its files. */
const isRoot = (path: string): boolean => path.startsWith('src/server/service/') || path === 'src/main.ts';
const rootKnownTo: Readonly<Record<string, readonly string[]>> = {
  'src/main.ts': ['src/cli/commands/serve.ts'],
  'src/server/service/move.ts': ['src/cli/commands/move.ts'],
  'src/server/service/backup.ts': ['src/cli/backup-options.ts', 'src/cli/commands/backup.ts'],
  'src/server/service/restore.ts': ['src/cli/commands/restore.ts'],
  [stores]: ['src/cli/import/local-store.ts', 'src/cli/import/local-tables.ts'],
  'src/server/service/store-api.ts': ['src/cli/open-api.ts'],
  'src/server/service/doctor/check.ts': ['src/cli/commands/doctor.ts'],
  'src/server/service/doctor/examine.ts': ['src/cli/commands/doctor.ts'],
  'src/server/service/data-dir.ts': ['src/cli/commands/doctor.ts', 'src/cli/open-api.ts'],
  'src/server/service/plugin-environment.ts': ['src/cli/transformation/trial-host.ts'],
};

/** Vendor clients and the only places that may name them. */
const vendors: readonly (readonly [name: RegExp, places: RegExp])[] = [
  [/^chdb$/, /^src\/stores\/events\/chdb\//],
  [/^@clickhouse\/client$/, /^src\/stores\/events\/clickhouse\/server\.ts$/],
  [
    /^pg$/,
    /^src\/(stores\/metadata\/postgres|log\/postgres\/connect|plugins\/sandbox\/ops\/postgres-ops|imports\/sources\/postgres[^/]*)\.ts$/,
  ],
  [
    /^node:sqlite$/,
    /^src\/(base\/sqlite-snapshot\.ts$|stores\/metadata\/sqlite|log\/sqlite\/|imports\/sources\/sqlite-process\.ts$)/,
  ],
  [/^mysql2$/, /^src\/imports\/sources\/mysql-(session|result)\.ts$/],
  [/^@platformatic\/kafka$/, /^src\/log\/(kafka-connection|kafka)\/|^src\/imports\/sources\/kafka-[^/]+\.ts$/],
  [/^@duckdb\/node-api$/, /^src\/imports\/sources\/duckdb-(process|rows)\.ts$/],
  [/^(fastify|@fastify\/.*|@scalar\/.*)$/, /^src\/(server\/(http|api)\/|wire\/capture\/routes[^/]*\.ts$)/],
  [/^commander$/, /^src\/cli\//],
  [/^yaml$/, /^src\/cli\/(files\/|write-yaml)/],
  [/^pino$/, /^src\/server\/telemetry\/log\.ts$/],
  [/^prom-client$/, /^src\/server\/telemetry\/metrics\.ts$/],
  [/^@opentelemetry\//, /^src\/server\/telemetry\/(open-telemetry|otlp-metrics)\.ts$/],
  [/^ajv/, /^src\/(server\/http|plugins)\//],
  [/^isolated-vm$/, /^src\/plugins\/sandbox\//],
  [/^esbuild$/, /^src\/(plugins\/sandbox|plugins\/packages)\//],
  [/^undici$/, /^src\/plugins\/outbound\//],
  [/^nodemailer$/, /^src\/queue\/notices\/send\/email\.ts$/],
  [/^openid-client$/, /^src\/server\/sign-in\/provider(-fetch)?\.ts$/],
  [/^maxmind$/, /^src\/plugins\/geoip\.ts$/],
  [/^tar$/, /^src\/(plugins\/packages|imports\/records)\//],
  [/^xz-decompress$/, /^src\/imports\/records\//],
  [/^yauzl$/, /^src\/(plugins\/packages|imports\/records)\//],
  [/^hyparquet.*$/, /^src\/(imports\/records\/|stores\/export\/write-parquet\.ts$)/],
  [/^avsc$/, /^src\/imports\/records\//],
  [/^@google-cloud\/storage$/, /^src\/imports\/sources\/gcs-token\.ts$/],
  [/^@aws-sdk\/.*$/, /^src\/(imports\/s3\/|log\/kafka-login\/msk-iam\.ts$)/],
];

/** Entries of separate processes, which end themselves. */
const processEntries = new Set(['src/stores/events/chdb/process.ts', 'src/imports/sources/duckdb-process.ts']);

const sources = parseFiles(
  allFiles().filter((path) => path.startsWith('src/') && path.endsWith('.ts') && !isTestSide(path)),
);

/** The console's own sources: another program, which runs in a browser. */
const consoleSources = parseFiles(
  allFiles().filter((path) => /^console\/src\/.*\.tsx?$/.test(path) && !isTestSide(path)),
);
/** Plain tables and rules of the contract that a browser may load, and the demo; of the others it takes the types alone. */
const tablesForBrowsers =
  /^src\/(demo\/demo|wire\/contract\/(errors|warnings|scopes|roles|sign-in-header|event-filter|unusual-values|import-name|import-run-states|import-schedule-limits|plan-policies|skipped-reasons))\.ts$/;

function isTestSide(path: string): boolean {
  return /\.(test|fixture)\.ts$/.test(path) || /(^|\/)test[-.]/.test(path);
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

describe('imports between rooms', () => {
  it('every folder of src has a row in the table', () => {
    const seen = new Set(sources.map((file) => roomOf(file.path)).filter((room) => room !== undefined));
    expect([...seen].filter((room) => !rooms.includes(room))).toEqual([]);
  });

  it('a room imports only rooms above its row', () => {
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

  it('the table allows only imports that exist', () => {
    const used = new Set(sources.flatMap((file) => file.imports.map((each) => arrowOf(file, each)?.join(' → '))));
    const unused = rooms.flatMap((room) => (mayImport[room] ?? []).map((to) => `${room} → ${to}`));
    expect(unused.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  it('no file reaches itself, except through types within one folder', () => {
    expect(circles()).toEqual([]);
  });

  it('the composition root is imported only by commands that start the program or use its stores', () => {
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

  it('src contains no files except main.ts', () => {
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

  it('the console imports only types of the contract, its plain tables and the demo from src; src imports nothing of it', () => {
    const abroad = consoleSources.flatMap(({ path, imports }) =>
      imports
        .filter(({ target }) => target !== undefined && !target.startsWith('console/src/'))
        .filter(
          ({ target = '', typeOnly }) =>
            !tablesForBrowsers.test(target) && !(typeOnly && target.startsWith('src/wire/contract/')),
        )
        .map(({ line, specifier }) => `${path}:${line} imports ${specifier}`),
    );
    expect(abroad).toEqual([]);
    expect(
      refused((_file, { target }) => (target?.startsWith('console/src/') ? 'it is another program' : undefined)),
    ).toEqual([]);
  });

  it('a component imports no page, and a page no other page', () => {
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

  it('the environment is read in src/server/config only', () => {
    expect(uses('process', 'env', /^src\/server\/config\//)).toEqual([]);
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
