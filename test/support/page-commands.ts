import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readBlocks, root, writtenPages, type Block } from './page-blocks.ts';

/** Some of the blocks for the shell. */
export interface Blocks {
  readonly page: string | RegExp;
  readonly heading?: string | RegExp;
  /** Words of the block itself. */
  readonly holds?: string | RegExp;
}

const moving = /^docs\/guides\/migrate-/;
const guide = (name: string): string => `docs/guides/${name}.md`;
const moved = (tool: string): string => guide(`migrate-${tool}`);

/** Which test runs which blocks as they are written. */
export const runBy: Readonly<Record<string, readonly Blocks[]>> = {
  'test/e2e/readme.test.ts': [{ page: 'README.md' }, { page: 'docs/index.md' }],
  'test/e2e/tour.test.ts': [{ page: 'docs/tour.md' }],
  'src/cli/import/guides.test.ts': [
    { page: moving, heading: 'Try it with sample data' },
    { page: moving, heading: /^From a (warehouse|flattened table)$/ },
    { page: moved('adobe-analytics'), heading: 'Get the export' },
    { page: moved('csv-parquet'), heading: 'Import a table of persons or groups' },
    { page: moved('matomo'), heading: 'Get the export' },
    { page: moved('sqlite'), heading: 'Get the export' },
    { page: moving, heading: 'Run the import', holds: / import [\w-]+ \.\// },
  ],
  'src/cli/import/guide-places.test.ts': [
    { page: moving, heading: 'Run the import', holds: /(s3|gs|azure):\/\// },
    { page: moved('clickhouse'), heading: 'Run the import' },
  ],
  'src/cli/import/guide-vendors.test.ts': [
    { page: moved('amplitude'), heading: 'Get the export' },
    { page: moved('mixpanel'), heading: 'Get the export' },
    { page: moved('snowflake'), heading: 'Get the export' },
    {
      page: moving,
      heading: 'Run the import',
      holds: /--source (amplitude|bigquery|mixpanel|posthog|postgres|snowflake)/,
    },
  ],
  'src/cli/import/guide-choosing.test.ts': [{ page: guide('choose-what-to-import') }],
  'src/cli/import/mysql.services.test.ts': [{ page: moved('mysql'), heading: 'Run the import' }],
  'src/cli/import/kafka.services.test.ts': [{ page: moved('kafka'), heading: 'Run the import' }],
  'test/e2e/guides.test.ts': [
    { page: guide('clickhouse-cluster'), heading: 'Settings' },
    { page: guide('first-history') },
    { page: guide('notices') },
    { page: guide('plugin-configs') },
    { page: guide('project-limits') },
    { page: guide('retention') },
    { page: guide('schedules') },
    { page: guide('segment-libraries') },
    { page: guide('transformations'), heading: /^(?!Replay stored events)/ },
  ],
  'test/e2e/guide-operations.test.ts': [
    { page: moved('heap'), heading: 'Run the import' },
    { page: guide('imports') },
    { page: guide('operations'), heading: /^(Backup|Watch events live|Work with several services)$/ },
  ],
  'test/e2e/export.test.ts': [{ page: guide('exports') }, { page: moved('millrace'), heading: 'Get the export' }],
  'test/e2e/erase.test.ts': [{ page: guide('erase') }],
  'src/cli/scale-out-guide.services.test.ts': [{ page: guide('scale-out'), heading: 'Try it on one machine' }],
  'src/cli/files/guide.test.ts': [{ page: guide('configuration-files') }],
};

/** Those that no test can run, and why. */
export const notRun: readonly (Blocks & { readonly reason: string })[] = [
  {
    page: moved('ga4'),
    heading: 'Get the export',
    reason: 'asks BigQuery and Google Cloud Storage, which want an account',
  },
  { page: moved('duckdb'), heading: 'Install the engine', reason: 'installs 70 MB from the npm registry' },
  {
    page: moved('kafka'),
    heading: 'Get the export',
    reason: "wants Kafka's own tools, and brokers that check the rights of users",
  },
  {
    page: guide('operations'),
    heading: 'Move to a cluster',
    reason: 'stops a unit of systemd, and wants PostgreSQL and ClickHouse; src/stores/move/move.services.test.ts moves',
  },
  {
    page: guide('clickhouse-cluster'),
    heading: 'Add a replica or replace a server',
    reason: 'wants several ClickHouse servers',
  },
  {
    page: guide('query-events'),
    reason:
      'wants a ClickHouse server and DuckDB; src/stores/events/clickhouse/reader.services.test.ts connects as the user of the page',
  },
  {
    page: guide('operations'),
    heading: 'Move a cluster to another one',
    reason: 'wants a cluster; src/server/service/move.services.test.ts moves one',
  },
  {
    page: guide('operations'),
    heading: 'Traces and metrics over OTLP',
    reason: 'runs the service; test/e2e/open-telemetry.test.ts does so with a collector',
  },
  {
    page: guide('transformations'),
    heading: 'Replay stored events through a plugin',
    reason: 'wants a plugin that receives events; test/e2e/console-transformations.test.ts installs one',
  },
  { page: guide('operations'), heading: 'Run as a systemd service', reason: 'installs a unit of systemd as root' },
  { page: 'CONTRIBUTING.md', reason: 'what a test run itself consists of' },
  { page: 'docs/compatibility.md', reason: 'wants the sources of published plugins and exports of other tools' },
  {
    page: guide('scale-out'),
    heading: 'Spread a large project over slots',
    reason: 'one line, which changes what a cluster at work does; src/cli/commands/projects.test.ts does it',
  },
  {
    page: guide('scale-out'),
    heading: 'Consumer lag',
    reason:
      "wants Kafka's shell scripts; src/server/service/kafka-group.services.test.ts reads the same with another client",
  },
  {
    page: guide('scale-out'),
    heading: 'Upgrade without downtime',
    reason: 'wants two versions and Kubernetes; `npm run prove -- rolling-upgrade` replaces processes like this',
  },
  { page: guide('scale-out'), heading: 'Kubernetes', reason: 'wants a cluster of Kubernetes and helm' },
];

const matches = (text: string, wanted: string | RegExp | undefined, whole: boolean): boolean => {
  if (wanted === undefined) return true;
  if (typeof wanted !== 'string') return wanted.test(text);
  return whole ? text === wanted : text.includes(wanted);
};

export function isAmong(block: Block, { page, heading, holds }: Blocks): boolean {
  return matches(block.page, page, true) && matches(block.heading, heading, true) && matches(block.text, holds, false);
}

/** Every block for the shell of every page. */
export function commandBlocks(): Block[] {
  return writtenPages()
    .flatMap(readBlocks)
    .filter(({ language }) => language === 'sh');
}

/** How a block is named in what a test says of it. */
export function nameOf({ page, heading, text }: Block): string {
  return `${page}, "${heading}": ${text.split('\n', 1)[0]}`;
}

/** The blocks that a test has to run, as the list above says. */
export interface Share {
  /** Selects the commands to run now, in order. Throws without any. */
  take(which: Blocks): readonly string[];
  /** The commands that were not selected. */
  left(): readonly string[];
}

/** `testFile`: the `import.meta.url` of the test. */
export function shareOf(testFile: string): Share {
  const name = relative(root, fileURLToPath(testFile)).replaceAll('\\', '/');
  const own = runBy[name] ?? [];
  const share = commandBlocks().filter((block) => own.some((which) => isAmong(block, which)));
  const taken = new Set<Block>();
  return {
    take(which) {
      const found = share.filter((block) => isAmong(block, which));
      if (found.length === 0) {
        const { page, heading, holds } = which;
        throw new Error(
          `expected blocks of ${page} below ${heading} with ${holds} among those of ${name} in page-commands.ts, got none`,
        );
      }
      for (const block of found) taken.add(block);
      return found.map(({ text }) => text);
    },
    left: () => share.filter((block) => !taken.has(block)).map(nameOf),
  };
}
