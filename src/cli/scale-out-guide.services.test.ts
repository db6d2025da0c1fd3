/** docs/guides/scale-out.md as an operator follows it: its cluster of five processes by hand, on real Kafka and PostgreSQL. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openCluster } from '../../test/support/cluster.ts';
import { inFolder } from '../../test/support/guide-import.ts';
import { kafkaBrokers } from '../../test/support/kafka-servers.ts';
import { shareOf } from '../../test/support/page-commands.ts';
import { describeOnPostgres } from '../../test/support/postgres-database.ts';
import { freePort } from '../../tools/with-server.ts';

const program = fileURLToPath(new URL('../../bin/millrace.js', import.meta.url));

describe.skipIf(kafkaBrokers === '')('the guide to a cluster', () => {
  describeOnPostgres('on PostgreSQL', (database) => {
    it('works as written: an event sent to capture is returned by the API, and slots move', async () => {
      await using cluster = await openCluster(database.url);
      const share = shareOf(import.meta.url);
      const page = 'docs/guides/scale-out.md';
      const [openShell, ...blocks] = share.take({ page, heading: 'Try it on one machine' });
      // The servers that it starts are there already.
      expect(openShell).toMatch(/^npx node tools\/with-clickhouse.ts -- .* -- bash\n$/);
      const printed = await inFolder(async (folder) => runBlocks(blocks, folder, cluster.env));
      expect(printed).toContain('{"status":"Ok"}');
      expect(printed).toMatch(/"event":"first","distinct_id":"ada"/);
      expect(printed).toMatch(/millrace_slots_held 16\n/);
      expect(share.left()).toEqual([]);
    }, 180_000);
  });
});

/** One shell after the other would lose what the first one started, so all of them are one. */
async function runBlocks(
  blocks: readonly string[],
  folder: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const script = [
    'set -em',
    `npx() { shift; exec "${process.execPath}" "${program}" "$@"; }`,
    // Also when something fails in the middle. The third is ended by the guide.
    `trap 'kill %1 %2 %4 %5; wait' EXIT`,
    ...(await withFreePorts(blocks)),
  ].join('\n');
  const { MILLRACE_IMPORT_STAGING_ENDPOINT: endpoint, ...servers } = env;
  const bucket = {
    BUCKET_NAME: 'millrace',
    BUCKET_ENDPOINT: endpoint,
    BUCKET_ACCESS_KEY_ID: 'millrace',
    BUCKET_SECRET_ACCESS_KEY: 'secret',
  };
  const options = { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder, ...servers, ...bucket } };
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { ...options, timeout: 170_000 });
  return stdout;
}

async function withFreePorts(blocks: readonly string[]): Promise<string[]> {
  const ports = new Map<string, number>();
  for (const port of ['8000', '8001', '8002', '8003', '8004']) ports.set(port, await freePort());
  return blocks.map((block) => block.replaceAll(/\b800[0-4]\b/g, (port) => String(ports.get(port))));
}
