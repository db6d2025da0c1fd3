import { newId } from '../../../base/ids.ts';
import type { Queries } from '../queries.ts';
import type { ColumnTypes, Migration } from './migration.ts';

/**
 * Users have roles and can be shut out; sessions have an id that may be shown, and say whose browser they are. Whoever has
 * used the service until now could do everything in it, and still can.
 */
export const roles: Migration = {
  version: 9,
  name: 'roles',
  up: async (db, types) => {
    await addRoles(db, types);
    await addSessionFacts(db, types);
  },
};

async function addRoles({ schema }: Queries, { text }: ColumnTypes): Promise<void> {
  await schema
    .alterTable('users')
    .addColumn('role', text, (column) => column.notNull().defaultTo('admin'))
    .execute();
  await schema.alterTable('users').addColumn('deactivated_at', text).execute();
  // Who did something is still to be read when the user has been deleted.
  await schema.alterTable('activity_log').addColumn('user_name', text).execute();
}

async function addSessionFacts(db: Queries, { text }: ColumnTypes): Promise<void> {
  const { schema } = db;
  for (const column of ['id', 'browser', 'address']) {
    await schema
      .alterTable('sessions')
      .addColumn(column, text, (each) => each.notNull().defaultTo(''))
      .execute();
  }
  await schema.alterTable('sessions').addColumn('last_used_at', text).execute();
  const sessions = await db.selectFrom('sessions').select('id_hash').execute();
  for (const { id_hash } of sessions) {
    await db.updateTable('sessions').set({ id: newId() }).where('id_hash', '=', id_hash).execute();
  }
  await schema.createIndex('sessions_by_id').on('sessions').column('id').unique().execute();
  await schema.createIndex('sessions_by_user').on('sessions').column('user_id').execute();
}
