import type { SchemaForm } from '../schema-form.ts';

/**
 * Parts that the engine merges or mutates are synced before those that they replace may go. The embedded engine removes replaced parts
 * within seconds, and without this a power cut could take rows that were inserted long before.
 */
export const syncMerges = (form: SchemaForm): readonly string[] => [
  `ALTER TABLE ${form.rowsOf('events')}${form.everywhere} MODIFY SETTING min_rows_to_fsync_after_merge = 1`,
];
