import { createIndex, type Migration } from './migration.ts';

/** The log of a project is read newest first, whatever the items: with the entries of its organisation in between. */
export const activityByTime: Migration = {
  version: 10,
  name: 'activity by time',
  up: ({ schema }) =>
    createIndex(schema, 'activity_log', 'activity_log_by_time', ['organization_id', 'created_at', 'id']),
};
