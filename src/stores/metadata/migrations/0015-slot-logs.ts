import type { Migration } from './migration.ts';

/** Which log the cursors of a slot count in. */
export const slotLogs: Migration = {
  version: 15,
  name: 'slot logs',
  up: async ({ schema }, { text }) => {
    await schema.alterTable('slots').addColumn('log', text).execute();
  },
};
