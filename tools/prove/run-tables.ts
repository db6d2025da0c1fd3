/**
 * Proves that runs go through their tables exactly: `npm run prove -- run-tables [--kills 300] [--seed <random>]`.
 *
 * Runs of 6,000 rows over six months, some identities repeated, are written to their tables and attached to `events`, while kill -9
 * hits the embedded engine: every second time between two statements, else in the middle of one, at a random moment. After each kill
 * the run begins again, as by a process that has noted nothing. Exits with 0 when each row was in the table once and is in `events`
 * once, by counts and checksums.
 *
 * The same on ClickHouse replicas, with their outages instead of kills of the engine (requires a `clickhouse` binary):
 * `node tools/with-clickhouse.ts -- npm run prove -- run-tables --outages kill [--rounds 1] [--rows 100000] [--seed <random>]`, with the
 * outages of `replicas`. Several runs at a time are passed through their tables, and each call is repeated as the stages of an import
 * repeat it; every second run also begins again after a random step. In the end all replicas of a shard must have the same rows, and no
 * server anything of a run's tables.
 */
import { parseArgs } from 'node:util';
import { readOutages } from './replica-outages.ts';
import { proveEngineKills } from './run-tables/engine-kills.ts';
import { proveOutages } from './run-tables/on-replicas.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    outages: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    rows: { type: 'string', default: '100000' },
  },
});
const seed = Number(values.seed);
if (values.outages === undefined) await proveEngineKills(Number(values.kills), seed);
else {
  const outages = readOutages(values.outages);
  await proveOutages({ rounds: Number(values.rounds), outages, rowsMin: Number(values.rows) }, seed);
}
