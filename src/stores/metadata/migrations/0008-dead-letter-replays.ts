import type { Queries } from '../queries.ts';
import { createIndex, key, required, type ColumnTypes, type Migration } from './migration.ts';

/** Replays of many dead letters, which go on in the background, and which of them has a letter in hand. */
export const deadLetterReplays: Migration = {
  version: 8,
  name: 'dead letter replays',
  up: async (db, types) => {
    await createReplays(db, types);
    await db.schema.alterTable('dead_letters').addColumn('replay_id', types.text).execute();
    await createIndex(db.schema, 'dead_letters', 'dead_letters_by_replay', ['replay_id', 'state', 'received_at']);
  },
};

async function createReplays({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('dead_letter_replays')
    .addColumn('id', text, key)
    .addColumn('project_id', 'integer', required)
    .addColumn('state', text, required)
    .addColumn('choice', text, required)
    .addColumn('matched', 'integer', required)
    .addColumn('failures', text, required)
    .addColumn('error', text, required)
    .addColumn('attempts', 'integer', required)
    .addColumn('lease_until', text)
    .addColumn('created_at', text, required)
    .addColumn('ended_at', text)
    .execute();
  await createIndex(schema, 'dead_letter_replays', 'dead_letter_replays_by_project', ['project_id', 'created_at']);
}
