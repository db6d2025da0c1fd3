import type { Queries } from '../queries.ts';
import { createIndex, key, required, type ColumnTypes, type Migration } from './migration.ts';

/** What processes on one store tell each other. Lost in a crash of the server: each says it again. */
export const processes: Migration = {
  version: 14,
  name: 'processes',
  up: async ({ schema }, types) => {
    await createProcesses(schema, types);
    await createLive(schema, types);
    await createCounts(schema, types);
  },
};

type Schema = Queries['schema'];

async function createProcesses(schema: Schema, { text, unlogged }: ColumnTypes): Promise<void> {
  await schema
    .createTable('service_processes')
    .modifyFront(unlogged)
    .addColumn('id', text, key)
    .addColumn('seen_at', 'bigint', required)
    .addColumn('report', text, required)
    .execute();
}

async function createLive(schema: Schema, { id, generated, text, unlogged }: ColumnTypes): Promise<void> {
  await schema
    .createTable('live_watches')
    .modifyFront(unlogged)
    .addColumn('process_id', text, required)
    .addColumn('watch_id', 'integer', required)
    .addColumn('watch', text, required)
    .addColumn('lease_until', 'bigint', required)
    .addPrimaryKeyConstraint('live_watches_pk', ['process_id', 'watch_id'])
    .execute();
  await schema
    .createTable('live_sightings')
    .modifyFront(unlogged)
    .addColumn('id', id, generated)
    .addColumn('process_id', text, required)
    .addColumn('sightings', text, required)
    .addColumn('seen_at', 'bigint', required)
    .execute();
  await createIndex(schema, 'live_sightings', 'live_sightings_by_process', ['process_id', 'id']);
}

async function createCounts(schema: Schema, { text, unlogged }: ColumnTypes): Promise<void> {
  await schema
    .createTable('rate_counts')
    .modifyFront(unlogged)
    .addColumn('scope', text, required)
    .addColumn('caller', text, required)
    .addColumn('window_ms', 'bigint', required)
    .addColumn('started_at', 'bigint', required)
    .addColumn('used', 'bigint', required)
    .addPrimaryKeyConstraint('rate_counts_pk', ['scope', 'caller', 'window_ms'])
    .execute();
  await schema
    .createTable('historical_budgets')
    .modifyFront(unlogged)
    .addColumn('project_id', 'integer', key)
    .addColumn('tokens', 'double precision', required)
    .addColumn('per_second', 'double precision', required)
    .addColumn('filled_at', 'bigint', required)
    .addColumn('total', 'bigint', required)
    .addColumn('total_read_at', 'bigint', required)
    .execute();
}
