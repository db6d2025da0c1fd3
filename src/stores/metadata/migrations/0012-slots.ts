import { sql } from 'kysely';
import type { Queries } from '../queries.ts';
import { required, type ColumnTypes, type Migration } from './migration.ts';

/**
 * Slots of the event log: who works on each, fenced by an epoch, and a cursor for each of its lanes. A store of one machine has
 * one, which takes over the cursors and the ranges that were begun.
 */
export const slots: Migration = {
  version: 12,
  name: 'slots',
  up: async (db, types) => {
    await createSlots(db, types);
    await createWorkers(db, types);
    await rekeyCursors(db, types);
  },
};

async function createSlots(db: Queries, { text }: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('slots')
    .addColumn('slot', 'integer', (column) => column.primaryKey().notNull())
    .addColumn('epoch', 'bigint', required)
    .addColumn('owner', text)
    .addColumn('lease_until', 'bigint', required)
    .execute();
  // Part of a key, so that PostgreSQL lets no claim pass a transaction that holds the slot, while a renewal need not wait for it.
  const unique = db.schema.createIndex('slots_by_epoch').unique();
  await unique.on('slots').columns(['slot', 'epoch']).execute();
  await sql`insert into slots (slot, epoch, lease_until) values (0, 0, 0)`.execute(db);
}

async function createWorkers({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .createTable('pipeline_workers')
    .addColumn('id', text, (column) => column.primaryKey().notNull())
    .addColumn('alive_until', 'bigint', required)
    .execute();
}

/** SQLite cannot change a primary key. */
async function rekeyCursors(db: Queries, { text }: ColumnTypes): Promise<void> {
  await db.schema.alterTable('log_cursors').renameTo('log_cursors_by_lane').execute();
  await db.schema
    .createTable('log_cursors')
    .addColumn('slot', 'integer', required)
    .addColumn('lane', text, required)
    .addColumn('seq', 'bigint', required)
    .addColumn('pending', text, required)
    .addPrimaryKeyConstraint('log_cursors_by_slot_pk', ['slot', 'lane'])
    .execute();
  await sql`insert into log_cursors (slot, lane, seq, pending)
    select 0, lane, seq, pending from log_cursors_by_lane`.execute(db);
  await db.schema.dropTable('log_cursors_by_lane').execute();
}
